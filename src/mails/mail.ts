/** What a mail is, and when it is tried again. */
import { MINUTE_MS } from '../core/time.ts'

export const MAIL_KINDS = [
  'invitation',
  'reset',
  'lockout',
  'notice',
  'alert',
  'receipt',
  'decision',
  'paid',
] as const
export type MailKind = (typeof MAIL_KINDS)[number]

/** Waits for the server; taken by it; refused by it for good; too old to be of use. */
export type MailStatus = 'queued' | 'sent' | 'refused' | 'given_up'

/** What somebody reads. Plain text: it needs no pictures, and nothing in it loads from anywhere. */
export interface Letter {
  readonly subject: string
  readonly text: string
}

/** How an attempt went. `failed` is worth another one, `refused` is not. `trouble` holds nothing secret. */
export type MailOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused' | 'failed'; readonly trouble: string }

/** How long a mail is worth sending. */
export const MAIL_HOURS = 24

const PAUSES_MINUTES = [1, 2, 5, 10, 20, 40, 60, 120, 240]

/** How long to wait after so many attempts. @param random - From 0 to 1: mails that failed together part ways. */
export function pauseAfter(attempts: number, random: number): number {
  const minutes = PAUSES_MINUTES[Math.min(attempts, PAUSES_MINUTES.length) - 1] ?? 1
  return Math.round(minutes * MINUTE_MS * (0.8 + 0.4 * random))
}
