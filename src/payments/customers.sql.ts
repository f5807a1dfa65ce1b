/** Customers: who paid, one per email and account whatever its case. */
import { invariant } from '../core/errors.ts'
import { type AccountId, type CustomerId, newId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'

/**
 * The customer of an email, made on first sight. The first spelling of the email stays.
 *
 * Takes no lock on a customer that exists, so that payments of one customer do not wait for each other. When two
 * transactions meet on a new email, the later one waits for the earlier, inserts nothing, and reads again.
 */
export async function upsertCustomer(tx: Tx, accountId: AccountId, email: string): Promise<CustomerId> {
  for (let attempt = 1; attempt <= 2; attempt++) {
    const { rows } = await tx.query<{ id: CustomerId }>(
      `with found as (
         select id from customers where account_id = $1 and lower(email) = lower($2)
       ), made as (
         insert into customers (account_id, id, email)
         select $1::uuid, $3::uuid, $2::text where not exists (select from found)
         on conflict (account_id, lower(email)) do nothing
         returning id
       )
       select id from found union all select id from made`,
      [accountId, email, newId('cus')],
    )
    if (rows[0]) return rows[0].id
  }
  invariant(false, 'a customer that another transaction made is not there')
}

/** The customer of an email, whatever its case; null when no payment named it yet. */
export async function findCustomerId(
  db: Queryable,
  accountId: AccountId,
  email: string,
): Promise<CustomerId | null> {
  const { rows } = await db.query<{ id: CustomerId }>(
    'select id from customers where account_id = $1 and lower(email) = lower($2)',
    [accountId, email],
    'prepared',
  )
  return rows[0]?.id ?? null
}

export interface CustomerChange {
  readonly accountId: AccountId
  readonly customerId: CustomerId
  /** 1 when a payment settles, -1 when a reorganisation takes that back. */
  readonly orders: 1 | -1
  /** Minor units of the account's settlement currency, of the same sign as `orders`. */
  readonly spentMinor: bigint
}

/** Follows a settlement or its reversal, within its transaction. Locks the customer's row until that commits. */
export async function adjustCustomer(tx: Tx, change: CustomerChange): Promise<void> {
  const { rowCount } = await tx.query(
    `update customers set order_count = order_count + $3, total_spent_minor = total_spent_minor + $4
     where account_id = $1 and id = $2`,
    [change.accountId, change.customerId, change.orders, change.spentMinor],
  )
  invariant(rowCount === 1, `customer ${change.customerId} is not there to be adjusted`)
}

/** What people call a customer; null for nothing but his email. */
export async function renameCustomer(
  tx: Tx,
  accountId: AccountId,
  customerId: CustomerId,
  name: string | null,
): Promise<void> {
  await tx.query('update customers set name = $3 where account_id = $1 and id = $2', [
    accountId,
    customerId,
    name,
  ])
}
