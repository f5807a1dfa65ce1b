/** Customers: made by the emails that payments name. */
import { notFound } from '../../core/errors.ts'
import { readId, showId } from '../../core/ids.ts'
import { fiatToNumber } from '../../core/money.ts'
import {
  CUSTOMER_SORTS,
  type Customer as CustomerRow,
  findCustomer,
  listCustomers,
  listRecentPayments,
  type RecentPayment as RecentPaymentRow,
} from '../../payments/list-customers.sql.ts'
import { PAYMENT_STATUSES } from '../../payments/payment.ts'
import { showPage } from '../page.ts'
import { type Route, read } from '../route.ts'
import {
  AssetName,
  FiatAmount,
  FiatName,
  Fields,
  FilterId,
  FilterText,
  Id,
  Nullable,
  OneOf,
  PageOf,
  PathId,
  paging,
  Timestamp,
} from '../schemas.ts'
import { Type } from '../type.ts'

const customerFields = {
  id: Id('cus'),
  email: Type.String(),
  name: Nullable(Type.String()),
  order_count: Type.Integer({ description: 'number of settled payments' }),
  total_spent: FiatAmount('lifetime net received, in the account’s settlement currency'),
  created_at: Timestamp('when first seen'),
}

const ListedCustomer = Fields(customerFields, { title: 'ListedCustomer' })

const RecentPayment = Fields({
  id: Id('pay'),
  status: OneOf(PAYMENT_STATUSES),
  asset: AssetName,
  net_fiat: FiatAmount('credited to the balance'),
  fiat_currency: FiatName,
  created_at: Timestamp(),
})

const showCustomer = (row: CustomerRow) => ({
  id: showId('cus', row.id),
  email: row.email,
  name: row.name,
  order_count: row.orderCount,
  total_spent: fiatToNumber(row.totalSpentMinor),
  created_at: row.createdAt.toISOString(),
})

const showRecentPayment = (row: RecentPaymentRow) => ({
  id: showId('pay', row.id),
  status: row.status,
  asset: row.asset,
  net_fiat: fiatToNumber(row.netMinor),
  fiat_currency: row.fiatCurrency,
  created_at: row.createdAt.toISOString(),
})

const EXAMPLE = {
  id: 'cus_01k6v3d6yqf5bbt9xgk2v7p8rm',
  email: 'ann@example.com',
  name: null,
  order_count: 2,
  total_spent: 148.5,
  created_at: '2026-02-03T10:15:00.000Z',
}

export const customers: readonly Route[] = [
  read('GET /customers', {
    scope: 'customers:read',
    summary: 'List customers',
    query: Fields({
      ...paging(CUSTOMER_SORTS),
      filter_id: FilterId,
      filter_email: FilterText('part of the email, in any case'),
      order_count_min: Type.Optional(Type.Integer({ minimum: 0 })),
      order_count_max: Type.Optional(Type.Integer({ minimum: 0 })),
      total_spent_min: Type.Optional(Type.Number({ minimum: 0 })),
      total_spent_max: Type.Optional(Type.Number({ minimum: 0 })),
    }),
    data: PageOf(ListedCustomer),
    refusals: { 400: ['invalid_parameter'] },
    example: { data: { items: [EXAMPLE], total: 1, page: 1, limit: 25, total_pages: 1 } },
    async read({ db, account, query }) {
      return showPage(await listCustomers(db, account.id, query), showCustomer)
    },
  }),
  read('GET /customers/:id', {
    scope: 'customers:read',
    summary: 'Retrieve a customer and his recent payments',
    params: PathId('cus'),
    data: Fields(
      {
        ...customerFields,
        recent_payments: Type.Array(RecentPayment, { maxItems: 20, description: 'newest first' }),
      },
      { title: 'Customer' },
    ),
    refusals: { 404: ['customer_not_found'] },
    example: {
      data: {
        ...EXAMPLE,
        recent_payments: [
          {
            id: 'pay_01k6v3d6yqf5bbt9xgk2v7p8rm',
            status: 'completed',
            asset: 'BTC',
            net_fiat: 99,
            fiat_currency: 'USD',
            created_at: '2026-02-03T10:15:00.000Z',
          },
        ],
      },
    },
    async read({ db, account, params }) {
      const id = readId('cus', params.id)
      const customer = id && (await findCustomer(db, account.id, id))
      if (!customer) throw notFound('customer_not_found', 'there is no such customer')
      const payments = await listRecentPayments(db, account.id, customer.id)
      return { ...showCustomer(customer), recent_payments: payments.map(showRecentPayment) }
    },
  }),
]
