/** Payments: a price in fiat becomes an exact amount at a fresh address. */
import { FIAT_CURRENCIES } from '../../core/assets.ts'
import { type PaymentId, readId, showId } from '../../core/ids.ts'
import { fiatToNumber } from '../../core/money.ts'
import { cancelPayment } from '../../flows/payments/cancel-payment.ts'
import { draftPayment, recordPayment } from '../../flows/payments/create-payment.ts'
import { drawPayment, readPayment } from '../../flows/payments/read-payment.ts'
import { acceptPayment } from '../../flows/payments/resolve-payment.ts'
import {
  type ListedPayment as ListedRow,
  listPayments,
  PAYMENT_SORTS,
} from '../../payments/list-payments.sql.ts'
import { paymentNotFound } from '../../payments/payment.ts'
import { findPayment } from '../../payments/payments.sql.ts'
import { readMetadata } from '../metadata.ts'
import { showPage } from '../page.ts'
import { readPrice } from '../price.ts'
import { type Route, read, write, writeAtOnce } from '../route.ts'
import {
  AssetName,
  Email,
  Fields,
  FilterId,
  FilterList,
  FilterText,
  OneOf,
  PageOf,
  PathId,
  paging,
  Reference,
} from '../schemas.ts'
import { Type } from '../type.ts'
import { CREATED, CreatedPayment, LISTED, ListedPayment, Payment, RETRIEVED } from './payment-schemas.ts'

const showListed = (row: ListedRow) => ({
  id: showId('pay', row.id),
  status: row.status,
  asset: row.asset,
  net_fiat: fiatToNumber(row.netMinor),
  fiat_currency: row.fiatCurrency,
  reference: row.reference,
  created_at: row.createdAt.toISOString(),
})

/** @throws {Refusal} `not_found` for an id that no payment can have. */
export function paymentId(text: string): PaymentId {
  const id = readId('pay', text)
  if (id) return id
  throw paymentNotFound()
}

export const payments: readonly Route[] = [
  writeAtOnce('POST /payments', {
    scope: 'payments:write',
    summary: 'Create a payment',
    description: 'Locks the rate for 30 minutes and assigns a fresh deposit address.',
    body: Fields({
      asset: AssetName,
      fiat_amount: Type.Number({ description: 'more than 0, at most two decimals' }),
      fiat_currency: Type.Optional(OneOf(FIAT_CURRENCIES, { default: 'USD' })),
      reference: Type.Optional(Reference),
      customer_email: Type.Optional(Email),
      metadata: Type.Optional(
        Type.Unsafe<object>({
          type: 'object',
          additionalProperties: true,
          description: 'at most 50 keys of 40 characters, texts of at most 500, 16 kB in all',
        }),
      ),
    }),
    recordedByRow: true,
    status: 201,
    data: CreatedPayment,
    refusals: {
      400: ['invalid_amount', 'metadata_too_large'],
      403: ['account_closed'],
      422: ['amount_below_minimum', 'amount_above_maximum'],
      503: ['no_rate', 'no_address', 'chain_unavailable'],
    },
    example: {
      body: {
        asset: 'LTC',
        fiat_amount: 49.99,
        reference: 'order-1001',
        customer_email: 'buyer@example.com',
        metadata: { cart: 77 },
      },
      data: CREATED,
    },
    async draft({ gateway, account, body, bodyText }) {
      const draft = await draftPayment(gateway, account, {
        asset: body.asset,
        fiatMinor: readPrice('fiat_amount', body.fiat_amount),
        fiatCurrency: body.fiat_currency ?? 'USD',
        reference: body.reference ?? null,
        customerEmail: body.customer_email ?? null,
        metadata: body.metadata === undefined ? null : readMetadata(bodyText),
      })
      return {
        data: draft.resource,
        async record(tx, keyed) {
          const { taken, deliveries } = await recordPayment(gateway, tx, draft, keyed)
          if (deliveries > 0) gateway.wake('deliver')
          return !taken
        },
        async isRecorded(db) {
          const isThere = (await findPayment(db, account.id, draft.payment.id)) !== null
          if (isThere) gateway.wake('deliver')
          return isThere
        },
      }
    },
  }),
  read('GET /payments', {
    scope: 'payments:read',
    summary: 'List payments',
    description: 'Newest first unless sorted otherwise; `sort=total` means the net fiat amount.',
    query: Fields({
      ...paging(PAYMENT_SORTS),
      filter_id: FilterId,
      filter_email: FilterText("part of the customer's email, in any case"),
      filter_reference: FilterText('your reference, to the letter'),
      filter_asset: FilterList('coins'),
      filter_asset_op: Type.Optional(OneOf(['is', 'is_not'], { default: 'is' })),
      filter_status: FilterList('statuses'),
      filter_status_op: Type.Optional(OneOf(['is', 'is_not'], { default: 'is' })),
      total_min: Type.Optional(Type.Number({ description: 'least net fiat amount' })),
      total_max: Type.Optional(Type.Number({ description: 'largest net fiat amount' })),
    }),
    data: PageOf(ListedPayment),
    refusals: { 400: ['invalid_parameter'] },
    example: { data: { items: [LISTED], total: 1, page: 1, limit: 25, total_pages: 1 } },
    async read({ db, account, query }) {
      return showPage(await listPayments(db, account.id, query), showListed)
    },
  }),
  read('GET /payments/:id', {
    scope: 'payments:read',
    summary: 'Retrieve a payment',
    params: PathId('pay'),
    data: Payment,
    refusals: { 404: ['payment_not_found'] },
    example: { data: RETRIEVED },
    async read({ gateway, db, account, params }) {
      const view = await readPayment(gateway, db, account.id, paymentId(params.id))
      if (!view) throw paymentNotFound()
      return view
    },
  }),
  write('POST /payments/:id/cancel', {
    scope: 'payments:write',
    summary: 'Cancel a pending payment',
    description: 'Only while nothing was seen. The address stays watched: what still arrives there is held.',
    ours: true,
    params: PathId('pay'),
    data: Payment,
    refusals: { 404: ['payment_not_found'], 409: ['payment_not_cancellable'] },
    example: {
      data: {
        ...RETRIEVED,
        ...CREATED,
        detected_at: null,
        completed_at: null,
        deposits: [],
        status: 'cancelled',
      },
    },
    async write({ gateway, tx, account, params, record }) {
      const payment = await cancelPayment(tx, account.id, paymentId(params.id))
      record({ action: 'payment.cancel', subject: params.id })
      return drawPayment(gateway, tx, payment)
    },
  }),
  write('POST /payments/:id/accept', {
    scope: 'payments:write',
    summary: 'Accept what a payment holds',
    description:
      'Credits the funds held for an underpaid, overpaid or late payment: at the quote, or at the rate of now for late funds.',
    ours: true,
    params: PathId('pay'),
    data: Payment,
    refusals: {
      404: ['payment_not_found'],
      409: ['payment_in_progress', 'nothing_to_accept'],
      503: ['no_rate'],
    },
    example: { data: RETRIEVED },
    async write({ gateway, tx, account, params, record }) {
      const payment = await acceptPayment(gateway, tx, account, paymentId(params.id))
      record({
        action: 'payment.accept',
        subject: params.id,
        after: { credited: String(payment.creditedAtoms) },
      })
      return drawPayment(gateway, tx, payment)
    },
    committed: ({ gateway }) => gateway.wake('deliver'),
  }),
]
