/** Mails about live payments, to those of the team who want them: one that waits for a decision, one that is paid. */
import { type AccountId, showId } from '../../core/ids.ts'
import { FIAT_DECIMALS, formatCoins, formatDecimal } from '../../core/money.ts'
import { attempt } from '../../db/attempt.ts'
import type { Tx } from '../../db/database.ts'
import { type PaymentWords, paymentLetter } from '../../mails/letters.ts'
import { countPaymentMails, lockPaymentMails, type MailDraft, queueMails } from '../../mails/mails.sql.ts'
import { isPaid, type Payment, type PaymentStatus, waitsForFunds } from '../../payments/payment.ts'
import { type HeldFunds, listUnresolved } from '../../payments/unresolved-funds.sql.ts'
import { whyHeld } from '../../payments/why-held.ts'
import { type PaymentMailReader, readersOfPayments } from '../../users/payment-mails.sql.ts'
import { PAYMENT_MAIL_NEEDS, PAYMENT_MAILS, type PaymentMail } from '../../users/payment-mails.ts'
import { may } from '../../users/permissions.ts'
import type { Gateway } from '../gateway.ts'

/** Of each kind, to one person within an hour. Who sells more than that looks at the list, and other mails do not wait behind these. */
const AN_HOUR_MAX = 30

/** A payment that was looked at: how it was, how it is, and what was booked to it meanwhile. */
export interface Settled {
  readonly before: PaymentStatus
  readonly payment: Payment
  /** The last deposit that was booked; null for none. */
  readonly booked: string | null
}

interface Occasion {
  readonly mail: PaymentMail
  /** Nobody is told of the same one twice. */
  readonly cause: string
  readonly payment: Payment
  readonly what: PaymentWords['what']
  readonly held: readonly HeldFunds[]
}

/** What is held now was not, or was waited with, when somebody last looked. */
const mayHoldAnew = ({ before, payment, booked }: Settled): boolean =>
  !waitsForFunds(payment.status) && (booked !== null || waitsForFunds(before))

function occasionsOf(settled: Settled, held: readonly HeldFunds[]): Occasion[] {
  const { before, payment, booked } = settled
  const { id, status } = payment
  const occasions: Occasion[] = []
  if (isPaid(status) && !isPaid(before))
    occasions.push({ mail: 'paid', cause: `payment:${id}:paid`, payment, what: 'paid', held: [] })
  if (mayHoldAnew(settled) && held.length > 0)
    occasions.push({
      mail: 'decision',
      cause: `payment:${id}:held:${booked ?? status}`,
      payment,
      what: whyHeld(payment, held),
      held,
    })
  return occasions
}

/**
 * In the transaction that decides, so that there is neither one without the other; once for all its payments, so that many
 * of them cost no more statements than one. It asks last: who waits for another's count holds up nobody else. Nobody's
 * money waits for a mail that can not be written: then each payment is told of by itself, and what fails is logged.
 */
export async function tellOfPayments(
  gateway: Pick<Gateway, 'settings' | 'secrets' | 'log'>,
  tx: Tx,
  settled: readonly Settled[],
): Promise<void> {
  if (!gateway.settings.sendsMail) return
  const telling = settled.filter(
    (each) => mayHoldAnew(each) || (isPaid(each.payment.status) && !isPaid(each.before)),
  )
  const [only, ...others] = telling
  if (!only) return
  const failure = await attempt(tx, () => queueMailsOf(gateway, tx, telling))
  if (failure === null) return
  if (others.length > 0) {
    for (const each of telling) await tellOfPayments(gateway, tx, [each])
    return
  }
  const { id, accountId } = only.payment
  const shown = { payment: showId('pay', id), account: showId('acct', accountId) }
  gateway.log.error({ ...shown, err: failure }, 'nobody is mailed about a payment')
}

async function queueMailsOf(
  { settings, secrets }: Pick<Gateway, 'settings' | 'secrets'>,
  tx: Tx,
  telling: readonly Settled[],
): Promise<void> {
  const readers = await readersOfPayments(
    tx,
    telling.map(({ payment }) => payment.accountId),
  )
  const heard = telling.filter(({ payment }) => readers.has(payment.accountId))
  if (heard.length === 0) return
  const held = await listUnresolved(
    tx,
    heard.filter(mayHoldAnew).map(({ payment }) => payment),
  )
  const occasions = heard.flatMap((each) => occasionsOf(each, held.get(each.payment.id) ?? []))
  await queueMails(tx, secrets, await draftsOf(settings.dashboardUrl, tx, occasions, readers))
}

/** Nobody gets more than his share within the hour, however many payments settle at once. */
async function draftsOf(
  dashboardUrl: string,
  tx: Tx,
  occasions: readonly Occasion[],
  readers: ReadonlyMap<AccountId, readonly PaymentMailReader[]>,
): Promise<MailDraft[]> {
  const addressed = occasions.flatMap((occasion) =>
    (readers.get(occasion.payment.accountId) ?? [])
      .filter(
        ({ role, mails }) => mails.includes(occasion.mail) && may(role, PAYMENT_MAIL_NEEDS[occasion.mail]),
      )
      .map((reader) => ({ occasion, reader })),
  )
  if (addressed.length === 0) return []
  const recipients = [...new Set(addressed.map(({ reader }) => reader.email.toLowerCase()))]
  await lockPaymentMails(tx, recipients)
  const sent = await countPaymentMails(tx, recipients, PAYMENT_MAILS)
  return addressed.flatMap(({ occasion, reader: { email, merchant } }) => {
    const { mail, cause } = occasion
    const counted = `${mail}:${email.toLowerCase()}`
    const count = (sent.get(counted) ?? 0) + 1
    if (count > AN_HOUR_MAX) return []
    sent.set(counted, count)
    const words = wordsOf(dashboardUrl, occasion, merchant, count === AN_HOUR_MAX)
    return [{ cause, kind: mail, to: [email], letter: paymentLetter(words) }]
  })
}

function wordsOf(
  dashboardUrl: string,
  { payment, what, held }: Occasion,
  merchant: string,
  isLast: boolean,
): PaymentWords {
  return {
    merchant,
    what,
    price: `${formatDecimal(payment.fiatMinor, FIAT_DECIMALS)} ${payment.fiatCurrency}`,
    asked: formatCoins(payment.dueAtoms, payment.asset),
    held: held.map(({ asset, atoms }) => formatCoins(atoms, asset)).join(' and '),
    reference: payment.reference,
    page: `${dashboardUrl}/dashboard/${showId('acct', payment.accountId)}/payments/${showId('pay', payment.id)}`,
    own: `${dashboardUrl}/dashboard/me`,
    isLast,
  }
}
