/**
 * The receipt of a payment, by mail, to the buyer who asks for it.
 *
 * Anybody can open a payment link and type an address, so this must be no way to write to strangers: it goes to the session's
 * own customer alone, once a payment, for a payment in real coins that was completed within {@link ASKED_FOR_DAYS}, and to one
 * address a few times a day.
 */
import { DAY_MS } from '../../core/time.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import type { Letter } from '../../mails/mail.ts'
import { countReceipts, MAILS_KEPT_DAYS, mailsOfCauses, queueMails } from '../../mails/mails.sql.ts'
import { isPaid } from '../../payments/payment.ts'
import type { Gateway } from '../gateway.ts'
import type { Checkout } from './checkout.ts'

const RECEIPTS_A_DAY_MAX = 5
/** That one was mailed is known from its mail's row, which is not forgotten before. */
const ASKED_FOR_DAYS = MAILS_KEPT_DAYS

export interface ReceiptMail {
  /** The buyer's own: what the merchant gave, or what he typed before he paid. */
  readonly address: string
  /** Asked for already. */
  readonly isQueued: boolean
}

type Paid = Pick<Checkout, 'account' | 'session' | 'payment' | 'now'>

function recipientOf(settings: Gateway['settings'], { account, session, payment, now }: Paid): string | null {
  if (!payment?.completedAt || now.getTime() - payment.completedAt.getTime() > ASKED_FOR_DAYS * DAY_MS)
    return null
  // Simulated coins cost nothing: with them a mail to anybody would be free.
  if (!settings.sendsMail || account.mode !== 'live' || !isPaid(payment.status)) return null
  return session.customerEmail ?? payment.customerEmail
}

const causeOf = ({ payment }: Paid): string => `receipt:${payment?.id}`

/** Null where none can be asked for. */
export async function findReceiptMail(
  { settings }: Pick<Gateway, 'settings'>,
  db: Queryable,
  checkout: Paid,
): Promise<ReceiptMail | null> {
  const address = recipientOf(settings, checkout)
  if (address === null) return null
  const cause = causeOf(checkout)
  return { address, isQueued: (await mailsOfCauses(db, [cause])).has(cause) }
}

/** @returns Whether it is on its way, or nothing was to be sent; false when the address got its share of today. */
export async function mailReceipt(
  { settings, secrets }: Pick<Gateway, 'settings' | 'secrets'>,
  tx: Tx,
  checkout: Paid,
  letter: Letter,
): Promise<boolean> {
  const address = recipientOf(settings, checkout)
  if (address === null) return true
  const cause = causeOf(checkout)
  if ((await mailsOfCauses(tx, [cause])).has(cause)) return true
  if ((await countReceipts(tx, address)) >= RECEIPTS_A_DAY_MAX) return false
  await queueMails(tx, secrets, [{ cause, kind: 'receipt', to: [address], letter }])
  return true
}
