/** From a view to a document. */
import { fill, fillText, type Html, html } from '../html.ts'
import type { CheckoutContent, CheckoutView, EarlierPayment, Frame, NoticeView, Order } from '../view.ts'
import { drawAmount, drawChoose } from './choose.ts'
import { layout } from './layout.ts'
import { drawCancelling, drawEnded, drawExpired, drawHeld, drawReceipt } from './outcome.ts'
import { coinAmount, drawHead, drawOrder, merchantName, withMerchant } from './parts.ts'
import { drawEnding, drawLower, drawProgress, drawSent, drawWaiting } from './pay.ts'

const describeOrder = ({ label, price }: Order): string =>
  [label, price].filter((each) => each !== null).join(' – ')

/** How often a page without JavaScript looks again. */
const REFRESH_SECONDS = 15
/** Where something may be typed meanwhile: long enough to fetch a transaction id from a wallet. */
const UNHURRIED_SECONDS = 120

export function drawCheckout(
  frame: Frame,
  { view, version, earlier, blindNetwork, canCancel }: CheckoutContent,
): Html {
  const { words } = frame.language
  return layout(frame, {
    title: titleOf(frame, view),
    description: describeOrder(view.order),
    state: view.state,
    version,
    refreshSeconds: version === null ? null : refreshSecondsOf(view),
    content: html`${drawNotices(frame, { blindNetwork, earlier })}${drawView(frame, view)}${
      canCancel &&
      html`<p class="other"><a class="button quiet" href="${frame.path}/cancel${frame.query}">${words.cancel}</a></p>`
    }`,
  })
}

/** What is being filled in would be lost, and what was answered should stay. */
function refreshSecondsOf(view: CheckoutView): number | null {
  if (view.state === 'choose' || view.state === 'amount' || view.state === 'cancelling') return null
  if (!('search' in view) || view.search === null || isAwaited(view)) return REFRESH_SECONDS
  return view.search.typed === '' ? UNHURRIED_SECONDS : null
}

/** There a link leads to what is to be filled in. */
const isAwaited = (view: CheckoutView): boolean =>
  (view.state === 'waiting' || view.state === 'sent' || view.state === 'lower' || view.state === 'ending') &&
  !view.search.isAsked

/** What lies across every state of a checkout. */
export const drawNotices = (
  frame: Frame,
  { blindNetwork, earlier }: Pick<CheckoutContent, 'blindNetwork' | 'earlier'>,
): Html =>
  html`<div id="notices" data-live>${
    blindNetwork !== null &&
    html`<p class="trouble" role="alert">${fill(frame.language.words.node_trouble, { network: blindNetwork })}</p>`
  }${earlier.map((payment) => drawEarlier(frame, payment))}</div>`

/** Above all else: whoever does not know of it would pay twice. */
const drawEarlier = (frame: Frame, { received, asset, paymentNumber }: EarlierPayment): Html =>
  html`<p class="trouble" role="alert">${fill(frame.language.words.earlier_funds, {
    amount: coinAmount(frame, received, asset),
    merchant: merchantName(frame),
    number: html`<bdi dir="ltr">${paymentNumber}</bdi>`,
  })}</p>`

function drawView(frame: Frame, view: CheckoutView): Html {
  switch (view.state) {
    case 'amount':
      return drawAmount(frame, view)
    case 'choose':
      return drawChoose(frame, view)
    case 'waiting':
      return drawWaiting(frame, view)
    case 'sent':
      return drawSent(frame, view)
    case 'lower':
      return drawLower(frame, view)
    case 'seen':
    case 'confirming':
      return drawProgress(frame, view)
    case 'ending':
      return drawEnding(frame, view)
    case 'paid':
    case 'higher':
      return drawReceipt(frame, view)
    case 'lower_over':
    case 'late':
    case 'refunded':
      return drawHeld(frame, view)
    case 'expired':
    case 'replaced':
      return drawExpired(frame, view)
    case 'cancelling':
      return drawCancelling(frame, view)
    case 'cancelled':
    case 'ended':
      return drawEnded(frame, view)
  }
}

function titleOf(frame: Frame, view: CheckoutView): string {
  const { words } = frame.language
  const merchant = merchantName(frame)
  return view.state === 'amount' || view.state === 'choose'
    ? fillText(words.pay_merchant, { merchant })
    : `${words[`${view.state}_title`]} – ${merchant}`
}

/** What is over by itself, so that the page tries again. */
const PASSING: readonly NoticeView['about'][] = ['unavailable', 'too_many']

export const drawNotice = (frame: Frame, { about, earlier, link }: NoticeView): Html => {
  const { words } = frame.language
  return layout(frame, {
    title: words[`${about}_title`],
    state: about,
    refreshSeconds: PASSING.includes(about) ? REFRESH_SECONDS : null,
    content: html`${earlier?.map((payment) => drawEarlier(frame, payment))}${drawHead(frame, about)}
${link && html`<p><a class="button" href="${link.path}"${link.isNewWindow && html` target="_blank"`}>${words[link.text]}</a></p>`}`,
  })
}

/** What a preview of a payment link shows: nothing is started. Somebody taken for a program can still go on. */
export const drawPreview = (frame: Frame, order: Order): Html =>
  layout(frame, {
    title: `${order.label ?? ''} – ${merchantName(frame)}`,
    description: describeOrder(order),
    state: 'preview',
    content: html`<h1>${withMerchant(frame, frame.language.words.pay_merchant)}</h1>
${drawOrder(frame, order)}
<form method="post" action="${frame.here}${frame.query}"><button type="submit" class="primary">${frame.language.words.continue}</button></form>`,
  })
