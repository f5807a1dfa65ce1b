import type { Account } from '../accounts/account.ts'
import { findAccount, listAccounts } from '../accounts/accounts.sql.ts'
import { readScopes, SCOPES } from '../accounts/api-key.ts'
import {
  type ApiKey,
  createApiKey,
  findApiKeyOwner,
  listApiKeys,
  revokeApiKey,
} from '../accounts/api-keys.sql.ts'
import { Refusal } from '../core/errors.ts'
import { type AccountId, readId, showId } from '../core/ids.ts'
import { isoOrNull } from '../core/time.ts'
import type { Queryable } from '../db/database.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

export interface KeyOptions {
  /** Of a database with one account may be left out. */
  readonly account?: string
  readonly name: string
  /** Of a test account may be left out: its key gets all, for it moves no money. */
  readonly scopes?: string
}

export async function createKey(terminal: Terminal, given: KeyOptions): Promise<void> {
  const name = given.name.trim()
  if (name.length < 1 || name.length > 255)
    throw new Refusal('invalid', 'invalid_name', `a key's name has 1 to 255 characters, got ${name.length}`)
  const made = await withStore(async ({ db }) => {
    const account = given.account === undefined ? await onlyAccount(db) : await accountOf(db, given.account)
    const scopes = readScopes(given.scopes ?? defaultScopes(account))
    return db.transaction(async (tx) => {
      const key = await createApiKey(tx, { accountId: account.id, mode: account.mode, name, scopes })
      const subject = showId('key', key.id)
      await recordCommand(tx, {
        accountId: account.id,
        action: 'key.create',
        subject,
        after: { name, scopes },
      })
      return key
    })
  })
  terminal.answer({ ...shown(made), key: made.key }, [
    made.key,
    `${showId('key', made.id)}  ${made.name}  ${made.scopes.join(',')}`,
    'This is the only time the key is shown.',
  ])
}

export async function showKeys(terminal: Terminal, given: { account: string }): Promise<void> {
  const keys = await withStore(async ({ db }) => listApiKeys(db, (await accountOf(db, given.account)).id))
  terminal.answer(
    { keys: keys.map(shown) },
    keys.length === 0
      ? ['This account has no key yet.']
      : table(
          keys.map((key) => [
            showId('key', key.id),
            `…${key.tail}`,
            key.revokedAt ? `revoked ${key.revokedAt.toISOString()}` : 'active',
            key.name,
            key.scopes.join(','),
          ]),
        ),
  )
}

export async function revokeKey(terminal: Terminal, id: string): Promise<void> {
  const keyId = readId('key', id)
  const revoked = await withStore(async ({ db }) => {
    const owner = keyId && (await findApiKeyOwner(db, keyId))
    if (!keyId || !owner) return null
    return db.transaction(async (tx) => {
      await recordCommand(tx, { accountId: owner, action: 'key.revoke', subject: id })
      return revokeApiKey(tx, owner, keyId)
    })
  })
  if (!revoked)
    throw new Refusal(
      'not_found',
      'key_not_found',
      `there is no key ${id}; \`npx beck keys list --account ID\` names them (key_…)`,
    )
  terminal.answer(shown(revoked), [`${id} is revoked; within five seconds nobody gets in with it.`])
}

/** @throws {Refusal} where there is none, or more than one to choose from. */
async function onlyAccount(db: Queryable): Promise<Account> {
  const accounts = await listAccounts(db)
  const [only] = accounts
  if (only && accounts.length === 1) return only
  throw new Refusal(
    'invalid',
    'missing_account',
    accounts.length === 0
      ? 'there is no account yet: npx beck accounts create --name Shop --email shop@example.com --mode test'
      : `name the account with --account, one of: ${accounts.map(({ id, name }) => `${showId('acct', id)} (${name})`).join(', ')}`,
  )
}

function defaultScopes({ mode }: Account): string {
  if (mode === 'test') return 'all'
  throw new Refusal(
    'invalid',
    'missing_scopes',
    `give the scopes a server needs with --scopes, such as payments:write,payments:read; there are: ${SCOPES.join(', ')}`,
  )
}

async function accountOf(db: Queryable, id: string) {
  const accountId: AccountId | null = readId('acct', id)
  const account = accountId && (await findAccount(db, accountId))
  if (!account)
    throw new Refusal(
      'not_found',
      'account_not_found',
      `there is no account ${id}; \`npx beck accounts list\` names them (acct_…)`,
    )
  return account
}

const shown = (key: ApiKey) => ({
  id: showId('key', key.id),
  account_id: showId('acct', key.accountId),
  name: key.name,
  scopes: key.scopes,
  tail: key.tail,
  created_at: key.createdAt.toISOString(),
  revoked_at: isoOrNull(key.revokedAt),
})
