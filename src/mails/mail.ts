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

/** That a mailbox is not there or takes nothing more, or what is wrong with the mail (RFC 3463). X.1.7 and X.1.8 are about the sender. */
const ABOUT_RECIPIENT_OR_MAIL = /^5\d\d[ -]5\.(?:1\.(?![78]\b)|2\.[1-4]\b|6\.)/

/**
 * Whether another attempt would be refused too: what the server does not take is the recipient, or the mail. A sender that it does
 * not take, a quota, a sign-in that it asks for are the operator's to mend, and the mail waits for him; servers say so in the answer
 * to the sender, to the recipient or to the content, as each likes, and without a status only in words.
 *
 * @param response - Its answer to the recipient or to the content: the code, the status where it gives one, and text.
 */
export const isFinal = (response: string): boolean => ABOUT_RECIPIENT_OR_MAIL.test(response)

/** How long a mail is worth sending. */
export const MAIL_HOURS = 24

const PAUSES_MINUTES = [1, 2, 5, 10, 20, 40, 60, 120, 240]

/** How long to wait after so many attempts. @param random - From 0 to 1: mails that failed together part ways. */
export function pauseAfter(attempts: number, random: number): number {
  const minutes = PAUSES_MINUTES[Math.min(attempts, PAUSES_MINUTES.length) - 1] ?? 1
  return Math.round(minutes * MINUTE_MS * (0.8 + 0.4 * random))
}
