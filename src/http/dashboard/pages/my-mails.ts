/** Which mails about payments somebody wants, for each of his merchants. */
import { notFound, type Refusal } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { listPaymentMails, lockPaymentMailsOf, setPaymentMails } from '../../../users/payment-mails.sql.ts'
import { PAYMENT_MAIL_NEEDS, PAYMENT_MAILS, type PaymentMail } from '../../../users/payment-mails.ts'
import { may } from '../../../users/permissions.ts'
import type { Membership } from '../../../users/user.ts'
import { html, type Part } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { card, checks, hidden, submit } from '../parts.ts'
import { type DashboardRow, type Move, type PersonCall, personRow } from '../row.ts'

const WORDS: Readonly<Record<PaymentMail, string>> = {
  decision: 'Payments that wait for a decision: too little, too much, too late, another coin',
  paid: 'Each payment that is paid',
}

const isFor = ({ role }: Membership, mail: PaymentMail): boolean => may(role, PAYMENT_MAIL_NEEDS[mail])

/** Of live accounts. What gets at money is told to owners whether they want it or not. */
export async function paymentMailsCard(call: PersonCall): Promise<Part> {
  const { session, gateway, base } = call
  if (session.memberships.length === 0 || !gateway.settings.sendsMail) return null
  const wanted = await listPaymentMails(gateway.db, session.userId)
  const live = session.memberships.filter(({ merchantId }) => wanted.has(merchantId))
  if (live.length === 0) return null
  const one = (team: Membership) =>
    html`<form method="post" action="${base}/me/mails">${hidden('merchant', showId('mer', team.merchantId))}${checks(
      call,
      {
        name: 'mails',
        legend: team.merchantName,
        choices: PAYMENT_MAILS.filter((mail) => isFor(team, mail)).map(
          (mail) => [mail, WORDS[mail]] as const,
        ),
        checked: wanted.get(team.merchantId) ?? [],
      },
    )}${submit('Save')}</form>`
  return card(
    'Mails about payments',
    html`<p class="hint">Of real payments, to ${session.email}. At most thirty of each kind within an hour.</p>${live.map(one)}`,
  )
}

const notOfTeam = (): Refusal => notFound('merchant_not_found', 'you belong to no such merchant')

/** @throws {Refusal} `not_found`. */
async function setMails(call: PersonCall): Promise<Move> {
  const { session, form, base } = call
  const id = readId('mer', form.get('merchant'))
  const team = session.memberships.find(({ merchantId }) => merchantId === id)
  if (!team) throw notOfTeam()
  const chosen = form.all('mails')
  await change(call, async (tx, record) => {
    const before = await lockPaymentMailsOf(tx, team.merchantId, session.userId)
    if (!before) throw notOfTeam()
    // What he was not asked about, since his role hears none of it, stays for the day that it does.
    const after = PAYMENT_MAILS.filter((mail) => (isFor(team, mail) ? chosen : before).includes(mail))
    await setPaymentMails(tx, team.merchantId, session.userId, after)
    record({
      action: 'user.mails',
      subject: showId('mer', team.merchantId),
      before: { mails: before },
      after: { mails: after },
    })
  })
  return { to: `${base}/me`, done: 'saved' }
}

export const mailRows: readonly DashboardRow[] = [personRow('person', 'POST /me/mails', { handle: setMails })]
