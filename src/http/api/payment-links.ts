/** Payment links: a fixed price that starts a hosted checkout on every visit. */
import { requireOpenAccount } from '../../accounts/closing.sql.ts'
import {
  insertPaymentLink,
  listPaymentLinks,
  PAYMENT_LINK_SORTS,
  type PaymentLink as PaymentLinkRow,
  setPaymentLinkActive,
} from '../../checkout/payment-links.sql.ts'
import { FIAT_CURRENCIES } from '../../core/assets.ts'
import { notFound } from '../../core/errors.ts'
import { readId, showId } from '../../core/ids.ts'
import { fiatToNumber } from '../../core/money.ts'
import { requireFiatAmount } from '../../flows/payments/fiat-amount.ts'
import { showPage } from '../page.ts'
import { readPrice } from '../price.ts'
import { type Route, read, write } from '../route.ts'
import {
  FiatAmount,
  FiatName,
  Fields,
  FilterId,
  FilterList,
  FilterText,
  Id,
  OneOf,
  PageOf,
  PathId,
  paging,
  Timestamp,
} from '../schemas.ts'
import { Type } from '../type.ts'

const PaymentLink = Fields(
  {
    id: Id('plink'),
    label: Type.String({ description: 'shown at checkout' }),
    amount: FiatAmount('fixed price'),
    currency: FiatName,
    uses: Type.Integer({ description: 'number of times the link was opened' }),
    is_active: Type.Boolean({ description: 'whether it accepts payments' }),
    created_at: Timestamp(),
  },
  { title: 'PaymentLink' },
)

const showLink = (row: PaymentLinkRow) => ({
  id: showId('plink', row.id),
  label: row.label,
  amount: fiatToNumber(row.amountMinor),
  currency: row.currency,
  uses: Number(row.uses),
  is_active: row.isActive,
  created_at: row.createdAt.toISOString(),
})

const EXAMPLE = {
  id: 'plink_5q8mz0x3v7c1t9rj2w4k6n8p0b',
  label: 'Consultation, one hour',
  amount: 120,
  currency: 'EUR' as const,
  uses: 0,
  is_active: true,
  created_at: '2026-02-03T10:15:00.000Z',
}

export const paymentLinks: readonly Route[] = [
  write('POST /payment-links', {
    scope: 'payment_links:write',
    summary: 'Create a payment link',
    description: 'Its page is `/pay/{id}`; every visit starts a checkout session.',
    body: Fields({
      label: Type.String({ minLength: 1, maxLength: 255, description: 'shown at checkout' }),
      amount: Type.Number({ description: 'more than 0, at most two decimals' }),
      currency: Type.Optional(OneOf(FIAT_CURRENCIES, { default: 'USD' })),
    }),
    status: 201,
    data: PaymentLink,
    refusals: {
      400: ['invalid_amount'],
      403: ['account_closed'],
      422: ['amount_below_minimum', 'amount_above_maximum'],
    },
    example: { body: { label: EXAMPLE.label, amount: EXAMPLE.amount, currency: 'EUR' }, data: EXAMPLE },
    async write({ gateway, tx, account, body, record }) {
      const price = { fiatMinor: readPrice('amount', body.amount), currency: body.currency ?? 'USD' }
      requireFiatAmount(gateway.settings, price, 'amount')
      await requireOpenAccount(tx, account.id)
      const link = showLink(
        await insertPaymentLink(tx, {
          accountId: account.id,
          label: body.label,
          amountMinor: price.fiatMinor,
          currency: price.currency,
        }),
      )
      const { label, amount, currency } = link
      record({ action: 'payment_link.create', subject: link.id, after: { label, amount, currency } })
      return link
    },
  }),
  read('GET /payment-links', {
    scope: 'payment_links:read',
    summary: 'List payment links',
    query: Fields({
      ...paging(PAYMENT_LINK_SORTS),
      filter_id: FilterId,
      filter_label: FilterText('part of the label, in any case'),
      filter_status: FilterList('`active`, `inactive`'),
      amount_min: Type.Optional(Type.Number({ minimum: 0 })),
      amount_max: Type.Optional(Type.Number({ minimum: 0 })),
    }),
    data: PageOf(PaymentLink),
    refusals: { 400: ['invalid_parameter'] },
    example: { data: { items: [EXAMPLE], total: 1, page: 1, limit: 25, total_pages: 1 } },
    async read({ db, account, query }) {
      return showPage(await listPaymentLinks(db, account.id, query), showLink)
    },
  }),
  write('PATCH /payment-links/:id', {
    scope: 'payment_links:write',
    summary: 'Enable or disable a payment link',
    description: 'A disabled link starts no checkout, and checkouts that it started take no new payment.',
    params: PathId('plink'),
    body: Fields({ is_active: Type.Boolean() }),
    data: PaymentLink,
    refusals: { 404: ['payment_link_not_found'] },
    example: { body: { is_active: false }, data: { ...EXAMPLE, is_active: false } },
    async write({ tx, account, params, body, record }) {
      const id = readId('plink', params.id)
      const link = id && (await setPaymentLinkActive(tx, account.id, id, body.is_active))
      if (!link) throw notFound('payment_link_not_found', 'there is no such payment link')
      record({
        action: 'payment_link.change',
        subject: params.id,
        before: { is_active: link.wasActive },
        after: { is_active: link.isActive },
      })
      return showLink(link)
    },
  }),
]
