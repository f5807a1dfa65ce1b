/** Customers: who paid, one per email and account whatever its case. */
import { invariant } from '../core/errors.ts'
import { type AccountId, type CustomerId, newId, showId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { overRows, overRowsPrepared } from '../db/row-statements.ts'
import { runRows } from '../db/together.ts'

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
  const [found] = await runRows<{ id: CustomerId | null }>(db, FIND, [{ account_id: accountId, email }])
  return found?.id ?? null
}

const FIND = overRowsPrepared(
  { account_id: 'uuid', email: 'text' },
  (rows) => `select place, (select c.id from customers c
      where c.account_id = r.account_id and lower(c.email) = lower(r.email)) as id
    from ${rows}`,
)

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
  const { accountId: account_id, customerId: id, orders, spentMinor: spent } = change
  const adjusted = await runRows(tx, ADJUST, [{ account_id, id, orders, spent }])
  invariant(
    adjusted.length === 1,
    () => `customer ${showId('cus', change.customerId)} is not there to be adjusted`,
  )
}

/** Locks them in the order of their keys; one customer may have several of the orders. */
const ADJUST = overRows(
  { account_id: 'uuid', id: 'uuid', orders: 'integer', spent: 'bigint' },
  (rows) => `with change as (
      select * from ${rows}
    ), locked as (
      select c.account_id, c.id from customers c
      where (c.account_id, c.id) in (select account_id, id from change) order by c.account_id, c.id for update
    ), adjusted as (
      update customers c set order_count = c.order_count + sums.orders, total_spent_minor = c.total_spent_minor + sums.spent
      from (select account_id, id, sum(orders) as orders, sum(spent) as spent from change join locked using (account_id, id)
        group by 1, 2) sums
      where c.account_id = sums.account_id and c.id = sums.id
      returning c.account_id, c.id
    )
    select place from change join adjusted using (account_id, id)`,
)

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
