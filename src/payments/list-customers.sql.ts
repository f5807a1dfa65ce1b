import type { AccountId, CustomerId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { type ListDescription, listOf } from '../db/list.ts'
import { countBound, exactId, fiatBound, substring } from '../db/list-filters.ts'
import { allRows, firstRow } from '../db/rows.ts'
import type { Payment } from './payment.ts'

export interface Customer {
  readonly id: CustomerId
  readonly email: string
  readonly name: string | null
  /** Settled payments. */
  readonly orderCount: number
  /** Net of the settled payments, in minor units of the account's settlement currency. */
  readonly totalSpentMinor: bigint
  readonly createdAt: Date
}

export const CUSTOMER_SORTS = ['id', 'email', 'order_count', 'total_spent', 'created_at'] as const

const COLUMNS = `c.id, c.email, c.name, c.order_count as "orderCount", c.total_spent_minor as "totalSpentMinor",
  c.created_at as "createdAt"`

const CUSTOMERS: ListDescription = {
  from: 'customers c',
  columns: COLUMNS,
  account: 'c.account_id',
  id: 'c.id',
  sorts: {
    id: 'c.id',
    // As people read emails, and as one customer is told from another.
    email: 'lower(c.email)',
    order_count: 'c.order_count',
    total_spent: 'c.total_spent_minor',
    created_at: 'c.created_at',
  } satisfies Record<(typeof CUSTOMER_SORTS)[number], string>,
  distinct: ['email'],
  filters: {
    filter_id: exactId('cus', 'c.id'),
    filter_email: substring('c.email'),
    filter_name: substring('c.name'),
    order_count_min: countBound('c.order_count', '>='),
    order_count_max: countBound('c.order_count', '<='),
    total_spent_min: fiatBound('c.total_spent_minor', '>='),
    total_spent_max: fiatBound('c.total_spent_minor', '<='),
  },
  counters: { from: 'customer_counts c', count: 'c.customers', filters: [] },
}

export const { page: listCustomers, batches: exportCustomers } = listOf<Customer>(CUSTOMERS)

/**
 * The same for people: how many a filter finds is counted as far as they want to know. A part of a name, or two letters of
 * an email, are looked for in all customers: people are told of a thousand sooner.
 */
export const { page: listCustomersForPeople } = listOf<Customer>({ ...CUSTOMERS, countedMax: 1_000n })

export const findCustomer = (db: Queryable, accountId: AccountId, id: CustomerId): Promise<Customer | null> =>
  firstRow(db, `select ${COLUMNS} from customers c where c.account_id = $1 and c.id = $2`, [accountId, id])

export type RecentPayment = Pick<
  Payment,
  'id' | 'status' | 'asset' | 'netMinor' | 'fiatCurrency' | 'createdAt'
>

/** The customer's last payments, newest first, at most 20, as the contract says. */
export const listRecentPayments = (
  db: Queryable,
  accountId: AccountId,
  customerId: CustomerId,
): Promise<RecentPayment[]> =>
  allRows(
    db,
    `select id, status, asset, net_minor as "netMinor", fiat_currency as "fiatCurrency", created_at as "createdAt"
     from payments where account_id = $1 and customer_id = $2
     order by created_at desc, id desc limit 20`,
    [accountId, customerId],
  )
