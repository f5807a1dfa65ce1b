/** While coins are awaited, on their way, or confirming. */
import { fill, type Html, html } from '../html.ts'
import type { EndingView, Frame, LowerView, ProgressView, SentView, WaitingView } from '../view.ts'
import {
  coinAmount,
  drawConfirmations,
  drawCountdown,
  drawHead,
  drawOrder,
  drawReferences,
  drawRows,
  drawSearchLink,
  drawTarget,
  drawUsualTime,
} from './parts.ts'

export function drawWaiting(frame: Frame, view: WaitingView): Html {
  const { words } = frame.language
  return html`<h1>${words.waiting_title}</h1>
${view.isWithdrawn && html`<p class="trouble" role="alert">${words.withdrawn}</p>`}
<p class="lead">${words.waiting_lead}</p>
${drawOrder(frame, view.order)}
${drawCountdown(frame, view.countdown)}
<p class="hint">${words.time_hint}</p>
${drawTarget(frame, view.target, words.send_exactly)}
${drawUsualTime(frame, view.usualMinutes)}
${drawSearchLink(frame, view.search)}
<p class="other"><a href="${frame.path}/coins${frame.query}">${words.change_coin}</a></p>`
}

export function drawSent(frame: Frame, view: SentView): Html {
  const { words } = frame.language
  return html`${drawHead(frame, view.state)}
${drawOrder(frame, view.order)}
${drawRows([
  [words.amount, coinAmount(frame, view.needed, view.asset)],
  [words.network, view.networkName],
])}
${drawReferences(frame, view.transactions)}
${drawSearchLink(frame, view.search)}
<details class="search"><summary>${words.sent_failed}</summary>
<form method="post" action="${frame.path}/unsent${frame.query}"><p class="hint">${words.sent_failed_lead}</p>
<button type="submit">${words.sent_again}</button></form></details>`
}

export function drawLower(frame: Frame, view: LowerView): Html {
  const { words } = frame.language
  const { asset } = view
  return html`${drawHead(frame, view.state)}
<p data-told>${fill(words.received_so_far, { received: coinAmount(frame, view.received, asset), needed: coinAmount(frame, view.needed, asset) })}</p>
${drawOrder(frame, view.order)}
${drawCountdown(frame, view.countdown)}
${drawTarget(frame, view.target, words.still_missing)}
${drawReferences(frame, view.transactions)}
${drawSearchLink(frame, view.search)}`
}

export function drawProgress(frame: Frame, view: ProgressView): Html {
  const { words } = frame.language
  return html`${drawHead(frame, view.state)}
${drawOrder(frame, view.order)}
${drawConfirmations(frame, view)}
${drawUsualTime(frame, view.usualMinutes)}
${drawRows([
  [words.received, coinAmount(frame, view.received, view.asset)],
  [words.network, view.networkName],
])}
${drawReferences(frame, view.transactions)}`
}

export const drawEnding = (frame: Frame, view: EndingView): Html =>
  html`${drawHead(frame, view.state)}
${drawOrder(frame, view.order)}
${drawSearchLink(frame, view.search)}`
