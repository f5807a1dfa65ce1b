/** The operator closes a merchant's account, and opens it again: only what would come in from now on changes. */
import type { Account } from '../../accounts/account.ts'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { setClosed } from '../../accounts/closing.sql.ts'
import { conflict, notFound } from '../../core/errors.ts'
import { isGatewayAccount } from '../../core/gateway-account.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'

/** What was done, as the audit log names it. */
export const CLOSING_ACTS = { close: 'account.close', reopen: 'account.reopen' } as const

/**
 * @param id - Null for what is no account's id.
 * @returns The account as it is from now on.
 * @throws {Refusal} `not_found`, `account_not_found`; `conflict`, `account_closed_already` or `account_open_already`.
 */
export async function closeAccount(
  tx: Tx,
  id: AccountId | null,
  act: keyof typeof CLOSING_ACTS,
): Promise<Account> {
  const isDone = id !== null && !isGatewayAccount(id) && (await setClosed(tx, id, act === 'close'))
  const account = id && (await findAccount(tx, id))
  if (!account || isGatewayAccount(account.id))
    throw notFound('account_not_found', 'there is no such account')
  if (isDone) return account
  throw act === 'close'
    ? conflict('account_closed_already', 'this account is closed already')
    : conflict('account_open_already', 'this account is open; there is nothing to reopen')
}
