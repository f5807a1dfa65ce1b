/** Where a customer's name and email stand, and what takes their place. */
import type { AccountId, CustomerId, EventId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { allRows, countRows } from '../../db/rows.ts'

export interface KnownCustomer {
  readonly accountId: AccountId
  readonly id: CustomerId
  readonly email: string
}

/** By email in any case, or by id; of every account unless one is named. */
export const findCustomers = (
  db: Queryable,
  of: { readonly email: string } | { readonly id: CustomerId },
  accountId: AccountId | null,
): Promise<KnownCustomer[]> =>
  allRows(
    db,
    `select account_id as "accountId", id, email from customers
     where (lower(email) = lower($1) or id = $2) and ($3::uuid is null or account_id = $3) order by account_id, id`,
    ['email' in of ? of.email : null, 'id' in of ? of.id : null, accountId],
  )

/** Locks the customer against payments of it that are being written. @returns How many rows of payments named it. */
export async function replaceCustomer(tx: Tx, customer: KnownCustomer, email: string): Promise<number> {
  const key = [customer.accountId, customer.id, email]
  await tx.query('update customers set email = $3, name = null where account_id = $1 and id = $2', key)
  const { rowCount } = await tx.query(
    'update payments set customer_email = $3 where account_id = $1 and customer_id = $2',
    key,
  )
  return rowCount
}

export const clearSessions = (tx: Tx, { accountId, email }: KnownCustomer): Promise<number> =>
  countRows(
    tx,
    'update checkout_sessions set customer_email = null where account_id = $1 and lower(customer_email) = lower($2)',
    [accountId, email],
  )

/** Receipts that were mailed to the person, or wait to be. */
export async function dropReceipts(tx: Tx, { accountId, email }: KnownCustomer): Promise<void> {
  await tx.query(
    `delete from mails where kind = 'receipt' and lower(recipient) = lower($2)
       and cause in (select 'receipt:' || p.id from payments p where p.account_id = $1)`,
    [accountId, email],
  )
}

/** Searches that somebody kept, for this person. */
export const dropSavedViews = (tx: Tx, { accountId, email }: KnownCustomer): Promise<number> =>
  countRows(
    tx,
    `delete from saved_views where account_id = $1
       and (strpos(lower(query), lower($2)) > 0 or strpos(lower(query), lower($3)) > 0 or strpos(lower(name), lower($2)) > 0)`,
    [accountId, email, encodeURIComponent(email)],
  )

/** What people wrote down about the person, and about payments of his: whatever it says of him. */
export async function dropNotes(tx: Tx, { accountId, id }: KnownCustomer): Promise<void> {
  await tx.query(
    `delete from notes where account_id = $1 and (subject_id = $2
       or subject_id in (select p.id from payments p where p.account_id = $1 and p.customer_id = $2))`,
    [accountId, id],
  )
}

/** Bodies of events that name the customer. @param customer - As events show it, `cus_…`. */
export const listEventBodies = (
  tx: Tx,
  accountId: AccountId,
  customer: string,
): Promise<{ id: EventId; body: string }[]> =>
  allRows(tx, 'select id, body from events where account_id = $1 and strpos(body, $2) > 0 for update', [
    accountId,
    customer,
  ])

export async function replaceEventBody(
  tx: Tx,
  accountId: AccountId,
  id: EventId,
  body: string,
): Promise<void> {
  await tx.query('update events set body = $3 where account_id = $1 and id = $2', [accountId, id, body])
}
