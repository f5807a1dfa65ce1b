/**
 * Payments over HTTP, and when each was under way: `node load.ts URL KEY BODY CONNECTIONS SECONDS`, the result as JSON. A
 * process of its own.
 */
import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { paymentRequests } from '../create-payment/payment-requests.ts'

interface Result {
  readonly '2xx': number
  readonly non2xx: number
  readonly requests: { readonly sent: number }
}
type Autocannon = (options: object) => EventEmitter & Promise<Result>

export interface Loaded {
  /** Milliseconds since the epoch. */
  readonly beganAt: number
  /** The same by the clock that all processes of the machine share (`process.hrtime`), in milliseconds. */
  readonly beganClockMs: number
  readonly sent: number
  /** Without those behind which a connection was begun anew: they are not told of. */
  readonly answers: number
  /** Answers that were none of success. */
  readonly refused: number
  /** In milliseconds since it began: of each request that was answered, when it was sent and when its answer was there. */
  readonly requests: readonly (readonly [sentMs: number, answeredMs: number])[]
}

const autocannon: Autocannon = createRequire(import.meta.url)('autocannon')
const beganAt = Date.now()
const beganClockMs = Number(process.hrtime.bigint()) / 1e6
const began = performance.now()
const requests: [number, number][] = []
const load = autocannon(paymentRequests(process.argv.slice(2)))
load.on('response', (_client, _status, _bytes, tookMs: number) => {
  const now = performance.now() - began
  requests.push([now - tookMs, now])
})
const {
  '2xx': answers,
  non2xx: refused,
  requests: { sent },
} = await load
process.stdout.write(
  JSON.stringify({ beganAt, beganClockMs, sent, answers, refused, requests } satisfies Loaded),
)
