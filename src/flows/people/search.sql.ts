/** Finding one thing by whatever somebody has of it. Each look is one probe of an index, and stops after a few rows. */

import type { PaymentLink } from '../../checkout/payment-links.sql.ts'
import { type ChainName, chainFor, type Mode, NETWORKS } from '../../core/assets.ts'
import type { AccountId } from '../../core/ids.ts'
import { fiatFromNumber } from '../../core/money.ts'
import type { Queryable } from '../../db/database.ts'
import { hasPart, partOf } from '../../db/list-filters.ts'
import type { Customer } from '../../payments/list-customers.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'

/** So many are shown of each kind. */
const FOUND_MAX = 10
/** One more is asked for: the page says so where it does not show all. */
const ASKED = FOUND_MAX + 1

export interface Found<Item> {
  readonly items: readonly Item[]
  /** What is not among them: nothing; more of the same; or whatever is older than the {@link NEWEST}, where nobody looked. */
  readonly rest: 'none' | 'more' | 'older'
}

export const NOTHING_FOUND: Found<never> = { items: [], rest: 'none' }

/** The first of what a look brought. */
export const firstOf = <Item>(rows: readonly Item[], hasOlder = false): Found<Item> => ({
  items: rows.slice(0, FOUND_MAX),
  rest: rows.length > FOUND_MAX ? 'more' : hasOlder ? 'older' : 'none',
})

export interface FoundPayment
  extends Pick<Payment, 'id' | 'status' | 'fiatMinor' | 'fiatCurrency' | 'reference' | 'createdAt'> {
  /** What was found in it. */
  readonly by: 'reference' | 'address' | 'transaction' | 'amount' | 'email'
}

const PAYMENT = `p.id, p.status, p.fiat_minor as "fiatMinor", p.fiat_currency as "fiatCurrency", p.reference,
  p.created_at as "createdAt"`

async function payments(
  db: Queryable,
  by: FoundPayment['by'],
  text: string,
  values: readonly unknown[],
): Promise<Found<FoundPayment>> {
  const { rows } = await db.query<Omit<FoundPayment, 'by'>>(text, values)
  return firstOf(rows.map((row) => ({ ...row, by })))
}

export const findByReference = (db: Queryable, accountId: AccountId, reference: string) =>
  payments(
    db,
    'reference',
    `select ${PAYMENT} from payments p where p.account_id = $1 and p.reference = $2
     order by p.created_at desc limit ${ASKED}`,
    [accountId, reference],
  )

/** @param lookups - What outputs to the address would be matched by, on each network it is valid on. */
export const findByAddress = (db: Queryable, accountId: AccountId, lookups: readonly Uint8Array[]) =>
  payments(
    db,
    'address',
    `select ${PAYMENT} from addresses a join payments p on p.account_id = a.account_id and p.id = a.payment_id
     where a.lookup = any($2::bytea[]) and a.account_id = $1 limit ${ASKED}`,
    [accountId, lookups],
  )

export const findByTransaction = (db: Queryable, accountId: AccountId, mode: Mode, txHash: string) =>
  payments(
    db,
    'transaction',
    `select distinct on (p.id) ${PAYMENT} from deposits d join payments p on p.account_id = d.account_id and p.id = d.payment_id
     where d.chain = any($2) and d.tx_key = any($3) and d.account_id = $1 limit ${ASKED}`,
    [
      accountId,
      NETWORKS.map((network): ChainName => chainFor(mode, network)),
      [txHash, txHash.toLowerCase()],
    ],
  )

/**
 * By what of it was net, or else by the price. The net is never above the price nor much below it, so its index bounds both;
 * but a range of it holds thousands of payments, one value few.
 */
export async function findByAmount(
  db: Queryable,
  accountId: AccountId,
  amount: number,
): Promise<Found<FoundPayment>> {
  const minor = fiatFromNumber(amount)
  if (minor === null || minor === 0n) return NOTHING_FOUND
  const find = (condition: string) =>
    payments(
      db,
      'amount',
      `select ${PAYMENT} from payments p where p.account_id = $1 and ${condition}
       order by p.net_minor desc, p.created_at desc limit ${ASKED}`,
      [accountId, minor],
    )
  const byNet = await find('p.net_minor = $2')
  return byNet.rest === 'more'
    ? byNet
    : find(`p.net_minor between $2::bigint - $2::bigint / 20 and $2::bigint
        and (p.fiat_minor = $2 or p.net_minor = $2)`)
}

export type FoundCustomer = Pick<Customer, 'id' | 'email' | 'name'>

/** Parts of emails, names and labels are looked for among so many: all there are would take longer than somebody waits. */
export const NEWEST = 10_000

/** Whether an account has more of them than are looked through. */
async function hasOlder(
  db: Queryable,
  table: 'customers' | 'payment_links',
  accountId: AccountId,
): Promise<boolean> {
  const { rows } = await db.query(
    `select from ${table} where account_id = $1 order by created_at desc, id desc offset ${NEWEST} limit 1`,
    [accountId],
  )
  return rows.length > 0
}

/** The email as it is; else whose email or name has it as a part, among the newest. The list of customers looks at all. */
export async function findCustomers(
  db: Queryable,
  accountId: AccountId,
  text: string,
): Promise<Found<FoundCustomer>> {
  const { rows: exact } = await db.query<FoundCustomer>(
    'select id, email, name from customers where account_id = $1 and lower(email) = lower($2)',
    [accountId, text],
  )
  if (exact.length > 0 || text.length < 3) return firstOf(exact)
  const { rows } = await db.query<FoundCustomer>(
    `select id, email, name from (
       select id, email, name, created_at from customers where account_id = $1
       order by created_at desc, id desc limit ${NEWEST}) newest
     where ${hasPart('email', '$2')} or ${hasPart('name', '$2')} order by created_at desc limit ${ASKED}`,
    [accountId, partOf(text)],
  )
  return firstOf(rows, await hasOlder(db, 'customers', accountId))
}

export type FoundLink = Pick<PaymentLink, 'id' | 'label' | 'amountMinor' | 'currency'>

/** Whose label has it as a part, among the newest. The list of links looks at all. */
export async function findLinks(
  db: Queryable,
  accountId: AccountId,
  text: string,
): Promise<Found<FoundLink>> {
  const { rows } = await db.query<FoundLink>(
    `select id, label, amount_minor as "amountMinor", currency from (
       select id, label, amount_minor, currency, created_at from payment_links where account_id = $1
       order by created_at desc, id desc limit ${NEWEST}) newest
     where ${hasPart('label', '$2')} order by created_at desc, id desc limit ${ASKED}`,
    [accountId, partOf(text)],
  )
  return firstOf(rows, await hasOlder(db, 'payment_links', accountId))
}

export type FoundWithdrawal = Pick<Withdrawal, 'id' | 'status' | 'destination' | 'createdAt'>

/** By where it went, or by its transaction. */
export async function findWithdrawals(
  db: Queryable,
  accountId: AccountId,
  text: string,
): Promise<Found<FoundWithdrawal>> {
  const { rows } = await db.query<FoundWithdrawal>(
    `select id, status, destination, created_at as "createdAt" from withdrawals
     where account_id = $1 and (destination = $2 or tx_hash = any($3))
     order by created_at desc limit ${ASKED}`,
    [accountId, text, [text, text.toLowerCase()]],
  )
  return firstOf(rows)
}
