import { ASSETS, type Asset, type Fiat } from '../core/assets.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { type ListDescription, type Page, readBatches, readPage } from '../db/list.ts'
import {
  exactId,
  exactText,
  type Filter,
  fiatBound,
  isOrIsNot,
  type ListQuery,
  operator,
  substring,
} from '../db/list-filters.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from './payment.ts'

/** What a list shows of a payment. */
export interface ListedPayment {
  readonly id: PaymentId
  readonly status: PaymentStatus
  readonly asset: Asset
  readonly netMinor: bigint
  readonly fiatCurrency: Fiat
  readonly reference: string | null
  readonly createdAt: Date
}

export const PAYMENT_SORTS = ['id', 'total', 'asset', 'status', 'created_at'] as const

/**
 * Looks through the customers, who are fewer than their payments: one that pays again is one row. A payment's email is
 * its customer's in every respect but case, which this filter does not see.
 */
const customerEmail: Filter = (...given) =>
  `p.customer_id in (select c.id from customers c where c.account_id = $1::uuid and ${substring('c.email')(...given)})`

/**
 * While payments are walked from the newest on, their own email spares looking their customers up. `coalesce` hides it
 * from the planner, which would else count the same condition twice and take the filter for rarer than it is.
 */
const ownEmail: Filter = (...given) => `coalesce(${substring('p.customer_email')(...given)}, false)`

const PAYMENTS: ListDescription = {
  from: 'payments p',
  columns: `p.id, p.status, p.asset, p.net_minor as "netMinor", p.fiat_currency as "fiatCurrency", p.reference,
    p.created_at as "createdAt"`,
  account: 'p.account_id',
  id: 'p.id',
  sorts: {
    id: 'p.id',
    total: 'p.net_minor',
    asset: 'p.asset',
    status: 'p.status',
    created_at: 'p.created_at',
  } satisfies Record<(typeof PAYMENT_SORTS)[number], string>,
  filters: {
    filter_id: exactId('pay', 'p.id'),
    filter_email: customerEmail,
    filter_reference: exactText('p.reference'),
    filter_asset: isOrIsNot('p.asset', ASSETS, 'filter_asset_op'),
    filter_asset_op: operator,
    filter_status: isOrIsNot('p.status', PAYMENT_STATUSES, 'filter_status_op'),
    filter_status_op: operator,
    total_min: fiatBound('p.net_minor', '>='),
    total_max: fiatBound('p.net_minor', '<='),
    held: () =>
      'p.id in (select u.payment_id from unresolved_funds u where u.account_id = $1::uuid and u.atoms > 0)',
  },
  hints: { filter_email: ownEmail },
  counters: {
    from: 'payment_counts p',
    count: 'p.payments',
    filters: ['filter_asset', 'filter_asset_op', 'filter_status', 'filter_status_op'],
  },
  days: { from: 'daily_payments', count: 'payments' },
}

/** A page of the account's payments. @throws {Refusal} `invalid` for a wrong query. */
export const listPayments = (
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<ListedPayment>> => readPage(db, PAYMENTS, accountId, query)

/** What an export tells of a payment. */
export interface ExportedPayment extends ListedPayment {
  readonly fiatMinor: bigint
  readonly feeMinor: bigint
  readonly dueAtoms: bigint
  readonly creditedAtoms: bigint | null
  readonly address: string
  readonly customerEmail: string | null
  readonly completedAt: Date | null
}

const IN_FULL: ListDescription = {
  ...PAYMENTS,
  columns: `${PAYMENTS.columns}, p.fiat_minor as "fiatMinor", p.fee_minor as "feeMinor", p.due_atoms as "dueAtoms",
    p.credited_atoms as "creditedAtoms", p.address, p.customer_email as "customerEmail", p.completed_at as "completedAt"`,
}

/** A page with all that an export tells, for people who choose their columns. @throws {Refusal} `invalid` for a wrong query. */
export const listPaymentsInFull = (
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<ExportedPayment>> => readPage(db, IN_FULL, accountId, query)

/** All payments that a query matches, the newest first, in batches. @throws {Refusal} `invalid` for a wrong query. */
export const exportPayments = (db: Queryable, accountId: AccountId, query: ListQuery) =>
  readBatches<ExportedPayment>(db, IN_FULL, accountId, query)
