/**
 * A closed account takes nothing new in: no payment, no checkout, link or point of sale, no key. What is under way ends as ever.
 *
 * @see docs/decisions/0080-closed-accounts.md
 */
import { forbidden, type Refusal } from '../core/errors.ts'
import type { AccountId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { sqlState } from '../db/failures.ts'
import { ACCOUNT_CLOSED } from '../db/sqlstate.ts'
import type { Account } from './account.ts'

export const accountClosed = (): Refusal =>
  forbidden(
    'account_closed',
    'this account is closed: it takes no new payments, and makes nothing that leads to one. What is under way goes on, and what it holds can be withdrawn. Who runs this gateway can open it again',
  )

/** Of an account as it was read; {@link requireOpenAccount} is sure. @throws {Refusal} `forbidden`, `account_closed`. */
export function requireOpen({ closedAt }: Pick<Account, 'closedAt'>): void {
  if (closedAt) throw accountClosed()
}

/**
 * Everything that makes something new for an account asks here, but payments, whose statement asks by itself. The account's row is
 * locked against {@link setClosed} until the transaction ends: what was made before is seen by whoever closes, and nothing is
 * made after.
 *
 * @throws {Refusal} `forbidden`, `account_closed`.
 */
export async function requireOpenAccount(tx: Tx, id: AccountId): Promise<void> {
  const { rowCount } = await tx.query(
    'select from accounts where id = $1::uuid and closed_at is null for key share',
    [id],
  )
  if (rowCount === 0) throw accountClosed()
}

/** Whether PostgreSQL ended a statement because it would have made something for a closed account (`refuse_closed`). */
export const isOfClosedAccount = (error: unknown): boolean => sqlState(error) === ACCOUNT_CLOSED

/**
 * Waits for what is being made for the account now, see {@link requireOpenAccount}.
 *
 * @returns False when there is no such account, or it is so already.
 */
export async function setClosed(tx: Tx, id: AccountId, isClosed: boolean): Promise<boolean> {
  await tx.query('select from accounts where id = $1::uuid for update', [id])
  const { rowCount } = await tx.query(
    `update accounts set closed_at = case when $2::boolean then now() end
     where id = $1::uuid and (closed_at is not null) <> $2::boolean`,
    [id, isClosed],
  )
  return rowCount === 1
}
