/** What follows from an attempt to deliver an event: pure, so that every case stands in one table of its test. */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts'

/** What an attempt met. */
export type Outcome =
  | {
      readonly kind: 'answered'
      readonly status: number
      /** The header as it came; null without one. */
      readonly retryAfter: string | null
      /** The first bytes of the answer's body, as text. */
      readonly start: string
    }
  /** No complete answer came: `error` is a sentence for the merchant. */
  | { readonly kind: 'unanswered'; readonly status: number | null; readonly error: string }

export type Verdict =
  | { readonly kind: 'delivered' }
  /** The next attempt is due this long after the end of this one. */
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** No attempt is left. */
  | { readonly kind: 'failed' }
  /** The receiver answered 410: it wants nothing more at this endpoint. */
  | { readonly kind: 'gone' }

/**
 * Waits between the end of one attempt and the next, as Standard Webhooks recommends: ten attempts over some 75
 * hours, longer than a weekend.
 */
const DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]

/** Each wait varies by this share in both directions, so that what failed together does not return together. */
const JITTER = 0.2
/** No receiver may put an attempt off for longer. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS

/** No two attempts are further apart where one is due: the longest wait, with its jitter, is shorter. */
export const SILENT_DAYS = 2

/** An endpoint that has been failing for so long, without one success, is disabled; people are told of it in these words. */
export const FAILING_MAX = { days: 5, words: 'five days' } as const

/** Why Beck stops sending to an endpoint: the receiver answered 410, or {@link FAILING_MAX} passed without success. */
export const DISABLED_REASONS = ['gone', 'failing'] as const
export type DisabledReason = (typeof DISABLED_REASONS)[number]

/**
 * @param attempt - Which attempt this was, from 1; a delivery sent again by hand starts over at 1.
 * @param random - At least 0 and below 1.
 */
export function judge(outcome: Outcome, attempt: number, random: number, now: Date): Verdict {
  if (outcome.kind === 'answered') {
    if (outcome.status >= 200 && outcome.status <= 299) return { kind: 'delivered' }
    if (outcome.status === 410) return { kind: 'gone' }
  }
  const delayMs = DELAYS_MS[attempt - 1]
  if (delayMs === undefined) return { kind: 'failed' }
  const scheduledMs = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random))
  const askedMs = outcome.kind === 'answered' ? retryAfterMs(outcome.retryAfter, now) : 0
  return { kind: 'retry', delayMs: Math.max(scheduledMs, Math.min(askedMs, RETRY_AFTER_MS_MAX)) }
}

/** RFC 9110, 10.2.3: whole seconds or an HTTP date. What is neither asks for nothing. */
function retryAfterMs(header: string | null, now: Date): number {
  if (header === null) return 0
  const text = header.trim()
  if (/^\d{1,10}$/.test(text)) return Number(text) * SECOND_MS
  const at = /^[A-Z][a-z]{2},/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime())
}
