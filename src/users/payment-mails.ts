/** What a member of a team may want to hear of live payments by mail, and who may hear it. */
import type { Permission } from './permissions.ts'

export const PAYMENT_MAILS = ['decision', 'paid'] as const
export type PaymentMail = (typeof PAYMENT_MAILS)[number]

/** Who may decide hears of what waits for it, unless he wants not to; each paid one is told to whoever asks for it. */
export const PAYMENT_MAIL_NEEDS: Readonly<Record<PaymentMail, Permission>> = {
  decision: 'payments:resolve',
  paid: 'payments:read',
}
