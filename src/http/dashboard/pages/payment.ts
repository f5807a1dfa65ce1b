/** One payment: what it asked, what came, what was told, and what can be done about it. */
import type { Asset } from '../../../core/assets.ts'
import { forbidden } from '../../../core/errors.ts'
import { type PaymentId, readId, showId } from '../../../core/ids.ts'
import { divideHalfUp, formatAmount } from '../../../core/money.ts'
import { SECOND_MS } from '../../../core/time.ts'
import { checkoutUrl } from '../../../flows/checkout/page-urls.ts'
import { cancelPayment } from '../../../flows/payments/cancel-payment.ts'
import { drawPayment } from '../../../flows/payments/read-payment.ts'
import { acceptPayment } from '../../../flows/payments/resolve-payment.ts'
import { type PaymentHistory, readPaymentHistory } from '../../../flows/people/payment-history.sql.ts'
import { priceRefund, refundPayment } from '../../../flows/withdrawals/refund-payment.ts'
import { type Payment, paymentNotFound, waitsForFunds } from '../../../payments/payment.ts'
import type { PaymentResource } from '../../../payments/payment-resource.ts'
import { findPayment } from '../../../payments/payments.sql.ts'
import { refundable } from '../../../payments/refundable.ts'
import { type WhyHeld, whyHeld } from '../../../payments/why-held.ts'
import { fiatValue } from '../../../rates/quote.ts'
import { findMerchant } from '../../../users/merchants.sql.ts'
import { html, type Part } from '../../hosted/html.ts'
import { drawQr } from '../../hosted/qr.ts'
import { change } from '../change.ts'
import { noteRows, notesCard } from '../notes.ts'
import { button, card, copyable, facts, field, formProblem, notice, submit } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { requireAsShown } from '../shown-figures.ts'
import { badge, coinNetwork, coins, fiat, time } from '../words.ts'
import { sandboxCard } from './sandbox.ts'
import { drawTimeline } from './timeline.ts'

export function paymentIdOf(call: PlaceCall): PaymentId {
  const id = readId('pay', call.params.id ?? '')
  if (!id) throw paymentNotFound()
  return id
}

export async function paymentOf(call: PlaceCall): Promise<Payment> {
  const payment = await findPayment(call.gateway.db, call.place.account.id, paymentIdOf(call))
  if (!payment) throw paymentNotFound()
  return payment
}

const isUnderWay = ({ status }: Payment, history: PaymentHistory): boolean =>
  waitsForFunds(status) ||
  history.refunds.some((refund) => refund.status === 'requested' || refund.status === 'broadcast') ||
  history.events.some((event) => event.deliveries.some((delivery) => delivery.status === 'pending'))

export async function paymentPage(call: PlaceCall): Promise<Sheet> {
  const payment = await paymentOf(call)
  const { gateway, place, here } = call
  const [view, history] = await Promise.all([
    drawPayment(gateway, gateway.db, payment),
    readPaymentHistory(gateway.db, place.account.id, payment),
  ])
  const path = `${here}/payments/${view.id}`
  const zone = place.membership.timeZone
  return {
    title: `${fiat(payment.fiatMinor, payment.fiatCurrency)} ${payment.status}`,
    nav: 'payments',
    trail: [['Payments', `${here}/payments`]],
    isLive: isUnderWay(payment, history),
    content: html`<header class="head"><div><h1 class="big">${fiat(payment.fiatMinor, payment.fiatCurrency)} ${badge(payment.status)}</h1><p>${copyable(view.id, 'Copy the id')} <button type="button" class="copy" data-copy="${gateway.settings.dashboardUrl}/dashboard/${call.params.account}/payments/${view.id}" hidden>Copy the link</button></p></div></header>${formProblem(call)}
${held(call, payment, history)}
<div class="columns main"><div>
${card('What happened', drawTimeline(call, payment, view, history))}
${place.account.mode === 'test' && call.may('sandbox:write') && sandboxCard(payment, path)}
</div><div>
${card('Amounts', amounts(payment))}
${card('Deposit address', deposit(payment, view))}
${card(
  'Details',
  facts([
    ['Reference', view.reference],
    [
      'Customer',
      view.customers &&
        (call.may('customers:read')
          ? html`<a href="${here}/customers/${view.customers.id}">${view.customers.email}</a>`
          : view.customers.email),
    ],
    ['Created', time(payment.createdAt, zone)],
    ['Window ends', time(payment.expiresAt, zone)],
    ['First seen', time(payment.detectedAt, zone)],
    ['Completed', time(payment.completedAt, zone)],
    ['Rate from', payment.rateSource],
    ['Checkout', checkoutOf(call, payment)],
    ['API requests', call.may('logs:read') && apiRequests(payment, `${here}/requests`)],
    ['Metadata', payment.metadata && html`<code>${payment.metadata.slice(0, 2_000)}</code>`],
  ]),
)}
${await notesCard(call, { kind: 'payment', id: payment.id }, path, call.may('payments:resolve'))}
${payment.status === 'pending' && call.may('payments:resolve') && card('Give it up', html`<p>Nothing was seen yet. The address stays watched: what still arrives there is held.</p>${button(`${path}/cancel`, 'Cancel the payment', { tone: 'danger' })}`)}
</div></div>`,
  }
}

/** Whoever has the page's address acts as the buyer: says where a refund goes, and cancels. */
const checkoutOf = (call: PlaceCall, { checkoutSessionId }: Payment): Part =>
  checkoutSessionId &&
  (call.may('payments:write')
    ? html`<div class="secret">${copyable(checkoutUrl(call.gateway, checkoutSessionId), 'Copy the checkout’s address')}</div>`
    : 'made on the checkout')

/** A call is logged when it is answered, by another clock than the payment's, and its row may be written a minute late. */
const MADE_BEFORE_MS = 10 * SECOND_MS
const MADE_WITHIN_MS = 70 * SECOND_MS

/** The call that made a payment does not name it: it is among those of the same minute. A checkout's payments are made by none. */
function apiRequests({ id, createdAt, checkoutSessionId }: Payment, path: string): Part {
  const at = (offsetMs: number) => new Date(createdAt.getTime() + offsetMs).toISOString()
  const made = `filter_method=POST&filter_path=payments&start_date=${at(-MADE_BEFORE_MS)}&end_date=${at(MADE_WITHIN_MS)}`
  return html`<a href="${path}?filter_path=${showId('pay', id)}">that named it</a>${checkoutSessionId === null && html`, <a href="${path}?${made}">of when it was made</a>`}`
}

const amounts = (payment: Payment): Part => {
  const { fiatCurrency: currency, asset } = payment
  const perCoin = divideHalfUp(payment.rate.numerator, payment.rate.denominator)
  return facts([
    ['Price', fiat(payment.fiatMinor, currency)],
    ['Fee', fiat(payment.feeMinor, currency)],
    ['Net', html`<strong>${fiat(payment.netMinor, currency)}</strong>`],
    ['Asked', coins(payment.dueAtoms, asset)],
    ['Locked rate', `${fiat(perCoin, currency)} for 1 ${asset}`],
    ['Credited', payment.creditedAtoms !== null && coins(payment.creditedAtoms, asset)],
    ['Gateway’s fee', payment.gatewayFeeAtoms !== null && coins(payment.gatewayFeeAtoms, asset)],
  ])
}

const deposit = (payment: Payment, view: PaymentResource): Part =>
  html`${facts([
    ['Network', coinNetwork(payment.asset)],
    ['Address', copyable(payment.address, 'Copy the address')],
    ['Confirmations', confirmationsOf(payment, view)],
  ])}${payment.status === 'pending' && html`<div class="qr-box">${drawQr(view.deposit.payment_uri ?? view.deposit.address, 'QR code of the deposit address and amount')}</div>`}`

const confirmationsOf = (
  { requiredConfirmations: needed }: Payment,
  { confirmations }: PaymentResource,
): string =>
  confirmations > needed ? `${confirmations}, ${needed} were needed` : `${confirmations} of ${needed}`

/** What is held waits for somebody: what accepting and refunding would do, in figures. */
function held(call: PlaceCall, payment: Payment, history: PaymentHistory): Part {
  if (history.unresolved.length === 0 || waitsForFunds(payment.status)) return null
  const path = `${call.here}/payments/${showId('pay', payment.id)}`
  const sums = history.unresolved.map(({ asset, atoms }) => coins(atoms, asset)).join(' and ')
  const isRefunded = history.refunds.some((refund) => refund.status !== 'failed')
  const funds = refundable(payment, history.unresolved)
  return notice(
    'wait',
    html`<p><strong>${sums} held.</strong> ${wordsOfHeld(payment, history.unresolved)} Credit it to your balance${funds ? ', or send it back to the buyer.' : '.'}${payment.shortfallAtoms > 0n && html` ${coins(payment.shortfallAtoms, payment.asset)} of this payment was credited and withdrawn before a reorganisation took it: what is held pays that back first.`}</p><div class="actions">${call.may('payments:resolve') && button(`${path}/accept`, `Accept ${sums}`, { tone: 'primary' })}${call.may('payments:refund') && !isRefunded && funds && html`<a class="button" href="${path}/refund">Refund…</a>`}</div>`,
  )
}

const WHY: Readonly<Record<WhyHeld, string>> = {
  beyond: 'It came beyond what was asked; the price itself is settled.',
  other_coin: 'It is another coin than was asked.',
  too_little: 'Less came than was asked.',
  late: 'It came when the payment did not wait for it any more.',
}

function wordsOfHeld(payment: Payment, held: PaymentHistory['unresolved']): string {
  const why = whyHeld(payment, held)
  // Of the other coins beside it some may have come in time.
  return why === 'late' && held.length > 1
    ? `The ${payment.asset} came when the payment did not wait for it any more; the rest is another coin than was asked.`
    : WHY[why]
}

// Refunds.

async function refundPage(call: PlaceCall): Promise<Sheet> {
  const payment = await paymentOf(call)
  const history = await readPaymentHistory(call.gateway.db, call.place.account.id, payment)
  const path = `${call.here}/payments/${showId('pay', payment.id)}`
  const funds = refundable(payment, history.unresolved)
  return {
    title: 'Refund',
    nav: 'payments',
    width: 'narrow',
    trail: [
      ['Payments', `${call.here}/payments`],
      [showId('pay', payment.id), path],
    ],
    content: funds
      ? html`<h1>Refund what is held</h1><p class="lead">${coins(funds.atoms, funds.asset)} can be sent back, once. It costs the network fee and nothing else.</p>${formProblem(call)}<form method="post" action="${path}/refund">${field(call, { name: 'destination_address', label: `The buyer’s ${coinNetwork(funds.asset)} address`, required: true, autocomplete: 'off', maxlength: 128, isFocused: true, hint: 'Ask the buyer: what was paid from may be an exchange’s.' })}${field(call, { name: 'amount', label: 'Amount', value: formatAmount(funds.atoms, funds.asset), required: true, inputmode: 'decimal', unit: funds.asset })}${submit('Go on', 'primary', path)}</form>`
      : html`<h1>Refund</h1><p class="lead">${history.unresolved.length === 0 ? 'Nothing is held for this payment.' : 'Nothing of what is held can be sent back: it pays back what was withdrawn before a reorganisation took it.'}</p>`,
  }
}

const refundOrder = (call: PlaceCall) => ({
  destination: call.form.get('destination_address'),
  amount: call.form.get('amount') || null,
})

/** Support refunds up to a bound that the owners set; whoever may withdraw needs none. */
async function requireWithinBound(
  call: PlaceCall,
  payment: Payment,
  asset: Asset,
  atoms: bigint,
): Promise<void> {
  if (call.may('withdrawals:write')) return
  const merchant = await findMerchant(call.gateway.db, call.place.membership.merchantId)
  const bound = merchant?.refundBoundMinor ?? 0n
  // Another coin than was asked for has no locked rate: it is somebody else's to decide.
  const minor = asset === payment.asset ? fiatValue(atoms, asset, payment.rate) : bound + 1n
  if (minor <= bound) return
  throw forbidden(
    'refund_above_bound',
    `as ${call.place.membership.role} you refund up to ${fiat(bound, payment.fiatCurrency)}; ask an owner, admin or finance for more`,
  )
}

async function quotedRefund(call: PlaceCall) {
  const payment = await paymentOf(call)
  const quote = await call.gateway.db.transaction((tx) =>
    priceRefund(call.gateway, tx, call.place.account, payment.id, refundOrder(call)),
  )
  await requireWithinBound(call, payment, quote.asset, quote.cost.amountAtoms)
  return { payment, ...quote }
}

export const paymentRow: readonly DashboardRow[] = [
  ...noteRows('payments:resolve', '/:account/payments/:id', {
    subjectOf: async (call) => ({ kind: 'payment', id: (await paymentOf(call)).id }),
    draw: paymentPage,
  }),
  placeRow('payments:read', 'GET /:account/payments/:id', { handle: paymentPage }),
  placeRow('payments:resolve', 'POST /:account/payments/:id/cancel', {
    async handle(call) {
      const id = paymentIdOf(call)
      await change(call, async (tx, record) => {
        await cancelPayment(tx, call.place.account.id, id)
        record({ action: 'payment.cancel', subject: showId('pay', id) })
      })
      return { to: `${call.here}/payments/${showId('pay', id)}`, done: 'cancelled' }
    },
    redraw: paymentPage,
  }),
  placeRow('payments:resolve', 'POST /:account/payments/:id/accept', {
    async handle(call) {
      const { gateway, place } = call
      const id = paymentIdOf(call)
      await change(call, async (tx, record) => {
        const payment = await acceptPayment(gateway, tx, place.account, id)
        record({
          action: 'payment.accept',
          subject: showId('pay', id),
          after: { credited: String(payment.creditedAtoms) },
        })
      })
      gateway.wake('deliver')
      return { to: `${call.here}/payments/${showId('pay', id)}`, done: 'accepted' }
    },
    redraw: paymentPage,
  }),
  placeRow('payments:refund', 'GET /:account/payments/:id/refund', { handle: refundPage }),
  placeRow('payments:refund', 'POST /:account/payments/:id/refund', {
    confirm: 'fresh',
    async consequence(call) {
      const { asset, cost, destination } = await quotedRefund(call)
      const words = html`<p class="lead">This sends <strong>${coins(cost.netAtoms, asset)}</strong> to the address below. It cannot be taken back.</p>${facts(
        [
          ['To', copyable(destination, 'Copy the address')],
          ['Taken from what is held', coins(cost.amountAtoms, asset)],
          ['Network fee', coins(cost.networkFeeAtoms, asset)],
          ['The buyer receives', html`<strong>${coins(cost.netAtoms, asset)}</strong>`],
        ],
      )}`
      return { words, figures: [{ asset, ...cost }] }
    },
    async handle(call) {
      const { gateway, place } = call
      const { payment } = await quotedRefund(call)
      const subject = showId('pay', payment.id)
      await change(call, async (tx, record) => {
        const askedBy = showId('usr', call.person.userId)
        const order = { ...refundOrder(call), askedBy }
        const refund = await refundPayment(gateway, tx, place.account, payment.id, order)
        requireAsShown(call, [refund])
        const after = {
          withdrawal: showId('wd', refund.id),
          asset: refund.asset,
          amount_atoms: String(refund.amountAtoms),
          destination_address: refund.destination,
        }
        record({ action: 'payment.refund', subject, after })
      })
      gateway.wake('pay-out')
      return { to: `${call.here}/payments/${subject}`, done: 'refunded' }
    },
    redraw: refundPage,
  }),
]
