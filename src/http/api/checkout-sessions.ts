/** Checkout sessions: a hosted page where the buyer picks the coin. */
import { Type } from 'typebox'
import { FIAT_CURRENCIES } from '../../core/assets.ts'
import { showId } from '../../core/ids.ts'
import { checkoutUrl, createSession } from '../../flows/checkout/checkout.ts'
import { readPrice } from '../price.ts'
import { type Route, write } from '../route.ts'
import { Email, Fields, Id, OneOf, Reference } from '../schemas.ts'

const RedirectUrl = (description: string) =>
  Type.String({ maxLength: 2_048, description: `http(s); ${description}` })

export const checkoutSessions: readonly Route[] = [
  write({
    method: 'POST',
    path: '/checkout/sessions',
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
      400: ['invalid_amount', 'invalid_url'],
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
      })
      return { id: showId('cs', session.id), url: checkoutUrl(gateway, session.id) }
    },
  }),
]
