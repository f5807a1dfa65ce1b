/** How a checkout ended, or what has to be settled by people. */
import { fill, fillText, type Html, html } from '../html.ts'
import type { Words } from '../languages/en.ts'
import type { CancellingView, EndedView, ExpiredView, Frame, HeldView, ReceiptView, Refund } from '../view.ts'
import {
  coinAmount,
  drawHead,
  drawHeadSaying,
  drawOrder,
  drawProblem,
  drawReferences,
  drawReturn,
  drawRows,
  drawSearch,
  drawTime,
  merchantName,
  withMerchant,
} from './parts.ts'

/** Until the buyer goes on by himself; longer where there is more to read, and to do about the difference. */
const RETURN_SECONDS = 8
const READING_SECONDS = 30

/** The sentence under a receipt's title, on its page and in its mail. */
export const receiptLead = ({ state, refund }: Pick<ReceiptView, 'state' | 'refund'>): keyof Words =>
  refund ? 'higher_refunded_lead' : `${state}_lead`

export function drawReceipt(frame: Frame, view: ReceiptView): Html {
  const { words } = frame.language
  const isHigher = view.state === 'higher'
  const { refund } = view
  const amounts: Record<string, Html> = refund
    ? { amount: coinAmount(frame, refund.amount, refund.asset) }
    : {}
  return html`${drawHeadSaying(frame, view.state, withMerchant(frame, words[receiptLead(view)], amounts))}
${view.lacking && html`<p class="hint">${fill(words.tolerated, { amount: coinAmount(frame, view.lacking, view.asset) })}</p>`}
${drawReturn(frame, view.returnUrl, isHigher ? READING_SECONDS : RETURN_SECONDS)}
<section class="receipt" aria-labelledby="receipt"><h2 id="receipt">${words.receipt}</h2>
${drawRows([
  [words.item, view.order.label],
  [words.amount, view.order.price],
  [words.needed, isHigher || view.lacking ? coinAmount(frame, view.needed, view.asset) : null],
  [isHigher ? words.received : words.paid, coinAmount(frame, view.received, view.asset)],
  [words.difference, view.excess && coinAmount(frame, view.excess, view.asset)],
  [words.network, view.networkName],
  [words.date, drawTime(frame, view.completedAt)],
])}
${drawReferences(frame, view.transactions, view.paymentNumber)}
${view.refund && drawRefund(frame, view.refund)}
${drawRefundAddress(frame, view)}
${drawMail(frame, view.mail)}
<p><button type="button" class="copy" data-print hidden>${words.print}</button></p>
</section>`
}

function drawMail(frame: Frame, mail: ReceiptView['mail']): Html | null {
  if (mail === null) return null
  const { words } = frame.language
  const to = html`<bdi>${mail.to}</bdi>`
  return mail.isQueued
    ? html`<p class="hint" role="status">${fill(words.mail_queued, { email: to })}</p>`
    : html`<form method="post" action="${frame.path}/receipt${frame.query}"><button type="submit" class="copy">${fill(words.mail_receipt, { email: to })}</button></form>`
}

export function drawHeld(frame: Frame, view: HeldView): Html {
  const { words } = frame.language
  return html`${drawHead(frame, view.state, view.isConfirmed || view.state === 'refunded' ? undefined : `${view.state}_seen_lead`)}
${drawOrder(frame, view.order)}
${drawRows([
  [words.needed, coinAmount(frame, view.needed, view.asset)],
  [words.received, coinAmount(frame, view.received, view.asset)],
  [words.network, view.networkName],
])}
${view.refund && drawRefund(frame, view.refund)}
${drawRefundAddress(frame, view)}
${drawReferences(frame, view.transactions, view.paymentNumber)}
${drawReturn(frame, view.returnUrl)}`
}

function drawRefundAddress(
  frame: Frame,
  { refundAddress, asset, networkName }: Pick<HeldView, 'refundAddress' | 'asset' | 'networkName'>,
): Html | null {
  if (refundAddress === null) return null
  const { words } = frame.language
  const { given, field } = refundAddress
  const hint = fillText(words.refund_hint, { asset, network: networkName, merchant: merchantName(frame) })
  return html`${given !== null && html`<dl class="references"><div><dt>${words.refund_given}</dt><dd><bdi class="hash" dir="ltr">${given}</bdi></dd></div></dl>`}
<details class="search"${field.problem !== null && html` open`}><summary>${words.refund_ask}</summary>
<form method="post" action="${frame.path}/refund-address${frame.query}" novalidate>
<label for="refund-address" class="hint">${hint}</label>
<input id="refund-address" name="address" value="${field.value}" required maxlength="128" autocomplete="off" autocapitalize="none" spellcheck="false" dir="ltr"${field.problem && html` aria-invalid="true" aria-describedby="refund-problem" autofocus`}>
${drawProblem('refund-problem', field.problem)}
<button type="submit">${words.refund_save}</button></form></details>`
}

function drawRefund(frame: Frame, { asset, amount, address, transaction }: Refund): Html {
  const { words } = frame.language
  return html`${drawRows([[words.refunded_amount, coinAmount(frame, amount, asset)]])}
<dl class="references"><div><dt>${words.refunded_to}</dt><dd><bdi class="hash" dir="ltr">${address}</bdi></dd></div></dl>
${transaction && drawReferences(frame, [transaction])}`
}

export function drawCancelling(frame: Frame, view: CancellingView): Html {
  const { words } = frame.language
  return html`${drawHead(frame, view.state)}
${drawOrder(frame, view.order)}
<p><a class="button primary" href="${frame.path}${frame.query}">${words.cancel_no}</a></p>
<form method="post" action="${frame.path}/cancel${frame.query}"><button type="submit" class="quiet">${words.cancel_yes}</button></form>`
}

export function drawExpired(frame: Frame, view: ExpiredView): Html {
  const { words } = frame.language
  return html`${drawHead(frame, view.state)}
${drawOrder(frame, view.order)}
<form method="post" action="${frame.path}/coin${frame.query}"><input type="hidden" name="asset" value="${view.asset}"><button type="submit" class="primary">${words.new_quote}</button></form>
<p class="other"><a href="${frame.path}/coins${frame.query}">${words.change_coin}</a></p>
${drawSearch(frame, view.search)}
${drawReturn(frame, view.returnUrl)}`
}

export function drawEnded(frame: Frame, view: EndedView): Html {
  const { words } = frame.language
  return html`${drawHead(frame, view.state)}
${drawOrder(frame, view.order)}
${view.canReopen && html`<form method="post" action="${frame.path}/reopen${frame.query}"><button type="submit" class="primary">${words.reopen}</button></form>`}
${drawReturn(frame, view.returnUrl, view.state === 'cancelled' ? RETURN_SECONDS : null)}
${view.search && drawSearch(frame, view.search)}`
}
