import { ASSETS, type Asset, type Fiat } from '../core/assets.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import {
  exactId,
  fiatBound,
  instantBound,
  isOrIsNot,
  type ListDescription,
  type ListQuery,
  operator,
  type Page,
  readPage,
  substring,
} from '../db/list.ts'
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
    filter_email: substring('p.customer_email'),
    filter_asset: isOrIsNot('p.asset', ASSETS, 'filter_asset_op'),
    filter_asset_op: operator,
    filter_status: isOrIsNot('p.status', PAYMENT_STATUSES, 'filter_status_op'),
    filter_status_op: operator,
    total_min: fiatBound('p.net_minor', '>='),
    total_max: fiatBound('p.net_minor', '<='),
    start_date: instantBound('p.created_at', '>='),
    end_date: instantBound('p.created_at', '<'),
  },
}

/** A page of the account's payments. @throws {Refusal} `invalid` for a wrong query. */
export const listPayments = (
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<ListedPayment>> => readPage(db, PAYMENTS, accountId, query)
