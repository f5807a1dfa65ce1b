/** Checkout sessions: a hosted page where the buyer picks the coin. */
import { readOfferedAssets } from '../../accounts/offered-assets.ts'
import { SESSION_STATUSES, sessionNotFound } from '../../checkout/session.ts'
import { ASSETS, FIAT_CURRENCIES } from '../../core/assets.ts'
import { readId, showId } from '../../core/ids.ts'
import { fiatToNumber } from '../../core/money.ts'
import { createSession, readCheckoutOf } from '../../flows/checkout/checkout.ts'
import { checkoutUrl } from '../../flows/checkout/page-urls.ts'
import { drawPayment } from '../../flows/payments/read-payment.ts'
import { readPrice } from '../price.ts'
import { type Route, read, write } from '../route.ts'
import { Email, FiatName, Fields, Id, Nullable, OneOf, PathId, Reference, Timestamp } from '../schemas.ts'
import { Type } from '../type.ts'
import { Payment, RETRIEVED } from './payment-schemas.ts'

const RedirectUrl = (description: string) =>
  Type.String({ maxLength: 2_048, description: `http(s); ${description}` })

export const checkoutSessions: readonly Route[] = [
  write('POST /checkout/sessions', {
    scope: 'payments:write',
    summary: 'Create a checkout session',
    description:
      'Redirect the buyer to `url`. The rate is locked once he picks a coin. A session without a coin ends after 24 hours. ' +
      'Being sent to `success_url` does not prove a payment: `payment.completed` or GET /payments/{id} does.',
    body: Fields({
      amount: Type.Optional(
        Type.Number({
          description: 'more than 0, at most two decimals; when left out, the page asks the buyer',
        }),
      ),
      currency: Type.Optional(
        OneOf(FIAT_CURRENCIES, { description: "the account's settlement currency when left out" }),
      ),
      label: Type.Optional(Type.String({ maxLength: 255, description: 'shown on the page' })),
      reference: Type.Optional(Reference),
      customer_email: Type.Optional(Email),
      coins: Type.Optional(
        Type.Array(OneOf(ASSETS), {
          minItems: 1,
          maxItems: ASSETS.length,
          description:
            'which the buyer may pick; all that the account offers when left out (an addition of Beck)',
        }),
      ),
      success_url: Type.Optional(RedirectUrl('where the buyer goes after success')),
      cancel_url: Type.Optional(RedirectUrl('where the buyer goes when he cancels')),
    }),
    recordedByRow: true,
    status: 201,
    data: Fields({
      id: Id('cs'),
      url: Type.String({ description: 'the hosted page' }),
    }),
    refusals: {
      400: ['coins_not_offered', 'invalid_amount', 'invalid_url'],
      403: ['account_closed'],
      422: ['amount_below_minimum', 'amount_above_maximum'],
    },
    example: {
      body: {
        amount: 49.99,
        currency: 'USD',
        label: 'Order 1001',
        reference: 'order-1001',
        success_url: 'https://shop.example/thanks',
      },
      data: {
        id: 'cs_5q8mz0x3v7c1t9rj2w4k6n8p0b',
        url: 'https://pay.example/checkout/cs_5q8mz0x3v7c1t9rj2w4k6n8p0b',
      },
    },
    async write({ gateway, tx, account, body }) {
      const session = await createSession(gateway, tx, account, {
        amountMinor: body.amount === undefined ? null : readPrice('amount', body.amount),
        currency: body.currency ?? null,
        label: body.label ?? null,
        reference: body.reference ?? null,
        customerEmail: body.customer_email ?? null,
        successUrl: body.success_url ?? null,
        cancelUrl: body.cancel_url ?? null,
        offeredAssets: body.coins ? readOfferedAssets(body.coins) : null,
      })
      return { id: showId('cs', session.id), url: checkoutUrl(gateway, session.id) }
    },
  }),
  read('GET /checkout/sessions/:id', {
    scope: 'payments:read',
    summary: 'Retrieve a checkout session',
    ours: true,
    description:
      'The way from a session to the payment that the buyer makes there. `payment` is the one of the coin ' +
      'picked last, null while none was.',
    params: PathId('cs'),
    data: Fields({
      id: Id('cs'),
      url: Type.String({ description: 'the hosted page' }),
      status: OneOf(SESSION_STATUSES, { description: 'complete once its payment is paid' }),
      amount: Nullable(Type.Number({ description: 'null: the buyer is asked' })),
      currency: FiatName,
      label: Nullable(Type.String()),
      reference: Nullable(Reference),
      payment: Nullable(Payment),
      created_at: Timestamp(),
      expires_at: Timestamp('when it ends unless a coin is picked'),
    }),
    refusals: { 404: ['session_not_found'] },
    example: {
      data: {
        id: 'cs_5q8mz0x3v7c1t9rj2w4k6n8p0b',
        url: 'https://pay.example/checkout/cs_5q8mz0x3v7c1t9rj2w4k6n8p0b',
        status: 'complete',
        amount: 49.99,
        currency: 'USD',
        label: 'Order 1001',
        reference: 'order-1001',
        payment: RETRIEVED,
        created_at: '2026-02-03T10:14:00.000Z',
        expires_at: '2026-02-04T10:14:00.000Z',
      },
    },
    async read({ gateway, db, account, params }) {
      const id = readId('cs', params.id)
      const checkout = id && (await readCheckoutOf(db, account.id, id))
      if (!checkout) throw sessionNotFound()
      const { session, status, payment } = checkout
      return {
        id: showId('cs', session.id),
        url: checkoutUrl(gateway, session.id),
        status,
        amount: session.amountMinor === null ? null : fiatToNumber(session.amountMinor),
        currency: session.currency,
        label: session.label,
        reference: session.reference,
        payment: payment && (await drawPayment(gateway, db, payment)),
        created_at: session.createdAt.toISOString(),
        expires_at: session.expiresAt.toISOString(),
      }
    },
  }),
]
