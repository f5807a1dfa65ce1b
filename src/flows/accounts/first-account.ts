/** The very first start leaves something to try Beck with: a test account and a key to it. */
import type { Account } from '../../accounts/account.ts'
import { insertAccount, lockAccounts } from '../../accounts/accounts.sql.ts'
import { createApiKey } from '../../accounts/api-keys.sql.ts'
import { recordAct } from '../../audit/audit-log.sql.ts'
import { showId } from '../../core/ids.ts'
import { SCOPES } from '../../core/scopes.ts'
import type { Gateway } from '../gateway.ts'

export interface FirstAccount {
  readonly account: Account
  /** Shown once; only its hash is kept. */
  readonly key: string
}

const KEY_NAME = 'First key'

/** Null when there is any account already. Of several processes that start at once, one makes it. */
export function openFirstAccount(gateway: Pick<Gateway, 'db'>): Promise<FirstAccount | null> {
  return gateway.db.transaction(async (tx) => {
    if (await lockAccounts(tx)) return null
    const account = await insertAccount(tx, {
      name: 'Test',
      email: 'test@example.com',
      mode: 'test',
      currency: 'USD',
    })
    const { id, key } = await createApiKey(tx, {
      accountId: account.id,
      mode: account.mode,
      name: KEY_NAME,
      scopes: SCOPES,
    })
    const act = {
      accountId: account.id,
      actor: { kind: 'system', id: null, name: 'first start' },
      address: null,
      before: null,
    } as const
    const { name, mode } = account
    await recordAct(tx, {
      ...act,
      action: 'account.create',
      subject: showId('acct', account.id),
      after: { name, mode },
    })
    await recordAct(tx, {
      ...act,
      action: 'key.create',
      subject: showId('key', id),
      after: { name: KEY_NAME, scopes: SCOPES },
    })
    return { account, key }
  })
}
