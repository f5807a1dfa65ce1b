/** One line of time for a payment: deposits, events with their deliveries, refunds, and what people did. */
import { showId } from '../../../core/ids.ts'
import type { PaymentHistory } from '../../../flows/people/payment-history.sql.ts'
import type { Payment } from '../../../payments/payment.ts'
import type { PaymentResource } from '../../../payments/payment-resource.ts'
import { type Html, html, type Part } from '../../hosted/html.ts'
import { copyable } from '../parts.ts'
import type { PlaceCall } from '../row.ts'
import { transaction } from '../transaction.ts'
import { badge, coins, fiat, plural, type Tone, time } from '../words.ts'

interface Moment {
  readonly at: Date
  readonly tone: Tone
  readonly title: Part
  readonly text?: Part
}

export function drawTimeline(
  call: PlaceCall,
  payment: Payment,
  view: PaymentResource,
  history: PaymentHistory,
): Html {
  const zone = call.place.membership.timeZone
  const moments = [
    ...createdAndEnded(payment),
    ...deposits(call, view),
    ...events(call, history),
    ...refunds(call, history),
    ...acts(history),
  ].sort((a, b) => b.at.getTime() - a.at.getTime())
  return html`<ol class="timeline" reversed>${moments.map(({ at, tone, title, text }) => html`<li class="${tone}"><p>${title}</p>${text && html`<div>${text}</div>`}${time(at, zone)}</li>`)}</ol>`
}

const createdAndEnded = (payment: Payment): Moment[] => [
  {
    at: payment.createdAt,
    tone: 'quiet',
    title: `Created: ${coins(payment.dueAtoms, payment.asset)} asked for ${fiat(payment.fiatMinor, payment.fiatCurrency)}`,
  },
  ...(payment.completedAt
    ? [
        {
          at: payment.completedAt,
          tone: 'good' as const,
          title:
            payment.creditedAtoms === null
              ? 'Completed'
              : `Settled: ${coins(payment.creditedAtoms, payment.asset)} credited`,
        },
      ]
    : []),
  ...(payment.status === 'expired'
    ? [{ at: payment.expiresAt, tone: 'quiet' as const, title: 'The window ended, unpaid' }]
    : []),
]

const DEPOSITS = {
  seen: ['busy', 'seen'],
  confirmed: ['good', 'confirmed'],
  replaced: ['bad', 'replaced by another transaction'],
  reorganised: ['bad', 'lost with its block'],
  dropped: ['bad', 'gone from the network'],
} as const

const deposits = (call: PlaceCall, view: PaymentResource): Moment[] =>
  view.deposits.map((deposit) => {
    const [tone, words] = DEPOSITS[deposit.status]
    return {
      at: new Date(deposit.seen_at),
      tone,
      title: html`${deposit.amount} ${deposit.asset} ${words}${deposit.late && html` ${badge('late')}`}`,
      text: html`<p class="hint">${plural(deposit.confirmations, 'confirmation')}</p>${deposit.tx_hash && transaction(call, deposit.asset, deposit.tx_hash)}`,
    }
  })

const events = (call: PlaceCall, history: PaymentHistory): Moment[] =>
  history.events.map((event) => ({
    at: event.createdAt,
    tone: event.deliveries.some(({ status }) => status === 'failed') ? 'bad' : 'quiet',
    title: html`<code>${event.type}</code> announced`,
    text:
      event.deliveries.length > 0 &&
      html`<p class="hint">${event.deliveries.map((delivery) =>
        call.may('webhooks:read')
          ? html`<a href="${call.here}/webhooks/${showId('whk', delivery.endpoint)}">Webhook</a> ${badge(delivery.status)} `
          : html`Webhook ${badge(delivery.status)} `,
      )}</p>`,
  }))

const refunds = (call: PlaceCall, history: PaymentHistory): Moment[] =>
  history.refunds.map((refund) => ({
    at: refund.createdAt,
    tone: refund.status === 'completed' ? 'good' : refund.status === 'failed' ? 'bad' : 'busy',
    title: html`Refund of ${coins(refund.netAtoms, refund.asset)} ${badge(refund.status)}`,
    text: html`<p class="hint">To ${copyable(refund.destination, 'Copy the address')}${call.may('withdrawals:read') && html` · <a href="${call.here}/withdrawals/${showId('wd', refund.id)}">Withdrawal</a>`}</p>`,
  }))

const ACT_WORDS: Readonly<Record<string, string>> = {
  'payment.create': 'made it',
  'payment.cancel': 'cancelled it',
  'payment.accept': 'accepted what was held',
  'payment.refund': 'asked for the refund',
  'sandbox.pay': 'paid it, in the sandbox',
  'sandbox.expire': 'ended its window, in the sandbox',
  'sandbox.mine': 'mined, in the sandbox',
  'sandbox.reorganise': 'took blocks away, in the sandbox',
  'sandbox.replace': 'double-spent it, in the sandbox',
}

const acts = (history: PaymentHistory): Moment[] =>
  history.acts.map(({ action, actor, at }) => ({
    at,
    tone: 'quiet',
    title: `${actor} ${ACT_WORDS[action] ?? action}`,
  }))
