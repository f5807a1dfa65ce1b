/** The hosted pages of an application over a story, as a browser without JavaScript sees them. */
import assert from 'node:assert/strict'
import type { FastifyInstance } from 'fastify'
import { invariant } from '../src/core/errors.ts'
import { type SessionId, showId } from '../src/core/ids.ts'
import { readCheckout, type SessionRequest } from '../src/flows/checkout/checkout.ts'
import { refundPayment } from '../src/flows/withdrawals/refund-payment.ts'
import type { HostedPagesOptions } from '../src/http/hosted/hosted.ts'
import type { Payment } from '../src/payments/payment.ts'
import { testApp, UNLIMITED } from './api.ts'
import { testSession } from './gateway.ts'
import { DESTINATIONS } from './payout-story.ts'
import { payOnce } from './payouts.ts'
import { type Story, tellStory } from './story.ts'

export const NO_LIMITS = {
  pages: UNLIMITED,
  payments: UNLIMITED,
  visits: UNLIMITED,
  link: UNLIMITED,
  account: UNLIMITED,
  sales: UNLIMITED,
  streams: 100_000,
}

export interface Page {
  readonly status: number
  readonly location: string | undefined
  readonly headers: Record<string, string | number | string[] | undefined>
  readonly html: string
  readonly state: string | undefined
  /** What a reader sees: no markup, no more than one space. */
  readonly text: string
}

export interface Hosted {
  readonly story: Story
  readonly app: FastifyInstance
  /** A session for 100 dollars: exactly one litecoin. */
  open(request?: Partial<SessionRequest>): Promise<SessionId>
  get(path: string, headers?: Record<string, string>, method?: 'GET' | 'HEAD'): Promise<Page>
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Page>
  /** Picks a coin with the form, and follows to the payment. */
  pick(id: SessionId, asset?: string, fields?: Record<string, string>): Promise<Payment>
  payment(id: SessionId): Promise<Payment>
  /** Support sends back all that is held for a payment. */
  refund(payment: Payment): Promise<void>
  show(id: SessionId): Promise<Page>
  /** Of the page that is shown. */
  stateOf(id: SessionId): Promise<string | undefined>
  /** The window ends unpaid, and the chain is seen after it; clocks of a millisecond may need a second look. */
  expire(payment: Payment): Promise<void>
}

export const pathOf = (id: SessionId): string => `/checkout/${showId('cs', id)}`

export async function testHosted(
  options: { freshPerChain?: number; hosted?: HostedPagesOptions; trustProxy?: string } = {},
): Promise<Hosted> {
  const story = await tellStory({ freshPerChain: options.freshPerChain ?? 40 })
  const { gateway, account } = story
  const app = await testApp(gateway, {
    hosted: { limits: NO_LIMITS, ...options.hosted },
    ...(options.trustProxy ? { trustProxy: options.trustProxy } : {}),
  })

  const get: Hosted['get'] = async (path, headers = {}, method = 'GET') =>
    pageOf(await app.inject({ method, url: path, headers }))
  const post: Hosted['post'] = async (path, fields, headers = {}) =>
    pageOf(
      await app.inject({
        method: 'POST',
        url: path,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
          ...headers,
        },
        payload: new URLSearchParams(fields).toString(),
      }),
    )
  const payment = async (id: SessionId) => {
    const found = (await readCheckout(gateway.db, id))?.payment
    invariant(found, 'a coin was picked')
    return found
  }
  return {
    story,
    app,
    get,
    post,
    payment,
    async refund({ id }) {
      // The worker tells what the network charges.
      await payOnce(gateway, story.port)
      await gateway.db.transaction((tx) =>
        refundPayment(gateway, tx, account, id, {
          destination: DESTINATIONS['sim-litecoin'],
          amount: null,
          askedBy: 'unknown',
        }),
      )
    },
    show: (id) => get(pathOf(id)),
    stateOf: async (id) => (await get(pathOf(id))).state,
    async expire(payment) {
      await story.endWindow(payment)
      while ((await story.read(payment)).status === 'pending') await story.look()
    },
    async open(request = {}) {
      return (await testSession(gateway, account, request)).id
    },
    async pick(id, asset = 'LTC', fields = {}) {
      const answer = await post(`${pathOf(id)}/coin`, { asset, ...fields })
      assert.deepEqual([answer.status, answer.location], [303, pathOf(id)], answer.text)
      return payment(id)
    },
  }
}

interface Injected {
  readonly statusCode: number
  readonly headers: Page['headers']
  readonly body: string
}

function pageOf({ statusCode, headers, body }: Injected): Page {
  const main = /<main[^>]*>([\s\S]*)<\/main>/.exec(body)?.[1] ?? body
  return {
    status: statusCode,
    location: typeof headers.location === 'string' ? headers.location : undefined,
    headers,
    html: body,
    state: /data-state="(\w+)"/.exec(body)?.[1],
    text: main
      .replace(/<\/?i>/g, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  }
}
