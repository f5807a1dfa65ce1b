/** Behind a counter: the keypad, one sale, and the last ones. Large enough to be read across it, and for one thumb. */
import type { Sale } from '../../../checkout/points-of-sale.sql.ts'
import type { Fiat } from '../../../core/assets.ts'
import { showId } from '../../../core/ids.ts'
import { fillText, type Html, html } from '../html.ts'
import { decimalMark, showFiat } from '../language.ts'
import type { Words } from '../languages/en.ts'
import type {
  CheckoutContent,
  CheckoutView,
  ChooseView,
  Field,
  Frame,
  LowerView,
  WaitingView,
} from '../view.ts'
import { drawNotices } from './draw.ts'
import { layout } from './layout.ts'
import { drawMark } from './marks.ts'
import { coinAmount, drawConfirmations, drawCountdown, drawProblem, drawTime } from './parts.ts'

interface Keypad {
  readonly path: string
  readonly name: string
  readonly currency: Fiat
  readonly amount: Field
  readonly note: string
}

const manifestOf = (frame: Frame, path: string) => ({
  manifest: `${path}/manifest.webmanifest${frame.query}`,
})

export function drawKeypad(frame: Frame, { path, name, currency, amount, note }: Keypad): Html {
  const { words } = frame.language
  const key = (sign: string) => html`<button type="button" data-key="${sign}">${sign}</button>`
  return layout(frame, {
    title: name,
    state: 'keypad',
    keypad: manifestOf(frame, path),
    content: html`<h1>${name}</h1>
<form method="post" action="${path}${frame.query}" class="till" novalidate>
<label for="amount">${words.amount} (${currency})</label>
<input id="amount" name="amount" inputmode="decimal" value="${amount.value}" required maxlength="15" autocomplete="off" dir="ltr" enterkeyhint="go"${amount.problem && html` aria-invalid="true" aria-describedby="amount-problem" autofocus`}>
${drawProblem('amount-problem', amount.problem)}
<div class="keys" dir="ltr" data-keys hidden>${['1', '2', '3', '4', '5', '6', '7', '8', '9', decimalMark(frame.language), '0'].map(key)}<button type="button" data-key="" aria-label="${words.pos_delete}">⌫</button></div>
<button type="submit" class="primary">${words.pos_charge}</button>
<label for="note">${words.pos_note}</label>
<input id="note" name="note" value="${note}" maxlength="100" autocomplete="off">
</form>
<p class="other"><a class="button quiet" href="${path}/sales${frame.query}">${words.pos_last}</a></p>`,
  })
}

interface At {
  /** Of the point of sale, and of this sale. */
  readonly path: string
  readonly here: string
  /** Leads the buyer's own phone to the checkout. */
  readonly checkout: Html
}

/** Without a script the counter looks again as often as the buyer's page. */
const REFRESH_SECONDS = 10

export function drawSale(frame: Frame, content: CheckoutContent, at: At): Html {
  const { words } = frame.language
  const { view } = content
  const isWaiting = view.state === 'waiting' || view.state === 'lower'
  const isOver = !isWaiting && view.state !== 'choose' && view.state !== 'seen' && view.state !== 'confirming'
  return layout(frame, {
    title: `${view.order.price ?? ''} – ${titleOf(frame, view)}`,
    state: view.state,
    version: content.version,
    refreshSeconds: content.version === null || view.state === 'choose' ? null : REFRESH_SECONDS,
    keypad: manifestOf(frame, at.path),
    content: html`${drawNotices(frame, content)}${drawState(frame, view, at)}
<p class="other"><a class="button${isOver ? ' primary' : ' quiet'}" href="${at.path}${frame.query}">${view.state === 'paid' || view.state === 'higher' ? words.pos_next : words.pos_new}</a></p>`,
  })
}

const titleOf = ({ language: { words } }: Frame, view: CheckoutView): string =>
  view.state === 'choose' || view.state === 'amount' ? words.pos_charge : words[`${view.state}_title`]

function drawState(frame: Frame, view: CheckoutView, at: At): Html {
  const { words } = frame.language
  switch (view.state) {
    case 'choose':
      return drawCodes(frame, view, at)
    case 'waiting':
    case 'lower':
      return drawCoinCode(frame, view, at)
    case 'seen':
    case 'confirming':
      return html`<h1 class="big">${words[`${view.state}_title`]}</h1><p class="big price">${view.order.price}</p>
${drawConfirmations(frame, view)}`
    case 'paid':
    case 'higher':
      return html`<h1 class="big done">${words.paid}</h1><p class="big price">${view.order.price}</p>
<p class="lead">${coinAmount(frame, view.received, view.asset)}</p>${view.state === 'higher' && html`<p class="hint">${words.higher_title}</p>`}`
    default:
      return html`<h1 class="big">${titleOf(frame, view)}</h1><p class="big price">${view.order.price}</p>
${(view.state === 'expired' || view.state === 'replaced') && html`<p><a class="button" href="${at.here}/coins${frame.query}">${words.new_quote}</a></p>`}`
  }
}

/** The code of the checkout, for the buyer's own phone; or a coin, whose code is shown here. */
function drawCodes(frame: Frame, view: ChooseView, at: At): Html {
  const { words } = frame.language
  const offers = view.coins.filter(({ amount }) => amount !== null)
  return html`<h1 class="big price">${view.order.price}</h1>
<div class="code">${at.checkout}<p class="hint">${words.pos_scan}</p></div>
${drawProblem('coin-problem', view.problem)}
<form method="post" action="${at.here}/coin${frame.query}"><p class="hint">${offers.length > 0 ? words.pos_here : words.none_available}</p><div class="coins">${offers.map(({ asset, name }) => html`<button name="asset" value="${asset}">${drawMark(asset)} <span>${name}</span></button>`)}</div></form>`
}

function drawCoinCode(frame: Frame, view: WaitingView | LowerView, at: At): Html {
  const { words } = frame.language
  const { target } = view
  return html`<h1 class="big price">${view.order.price}</h1>
<p class="big">${view.state === 'lower' && html`${words.still_missing}: `}${coinAmount(frame, target.amount, target.asset)}</p>
<div class="code">${target.qr}${!target.hasAmount && html`<p class="hint">${words.qr_alone}</p>`}</div>
${target.isToken && html`<p class="warning" role="note"><strong>${fillText(words.only_token, { network: target.networkName, asset: target.asset })}</strong></p>`}
${drawCountdown(frame, view.countdown)}
${frame.isTest && html`<form method="post" action="${at.here}/simulate${frame.query}"><button type="submit">${words.simulate}</button></form>`}
${view.state === 'waiting' && html`<p class="other"><a href="${at.here}/coins${frame.query}">${words.change_coin}</a></p>`}`
}

interface Sales {
  readonly path: string
  readonly name: string
  readonly sales: readonly Sale[]
  readonly now: Date
}

export const drawSales = (frame: Frame, { path, name, sales, now }: Sales): Html => {
  const { words } = frame.language
  return layout(frame, {
    title: `${words.pos_last} – ${name}`,
    state: 'sales',
    keypad: manifestOf(frame, path),
    content: html`<h1>${words.pos_last}</h1>
${sales.length === 0 && html`<p class="lead">${words.pos_none}</p>`}
<ul class="sales">${sales.map((sale) => {
      const word = wordOf(sale, now)
      return html`<li><a href="${path}/sales/${showId('cs', sale.sessionId)}${frame.query}"><b>${showFiat(frame.language, sale.amountMinor, sale.currency)}</b> <span class="${word === 'paid' ? 'done' : 'hint'}">${words[word]}</span> <span class="hint">${drawTime(frame, sale.createdAt)}${sale.label && html` · ${sale.label}`}</span></a></li>`
    })}</ul>
<p class="other"><a class="button primary" href="${path}${frame.query}">${words.pos_new}</a></p>`,
  })
}

/** Where a sale stands, in a word. */
function wordOf({ status, cancelledAt, expiresAt, isHeld }: Sale, now: Date): keyof Words {
  switch (status) {
    case 'completed':
    case 'overpaid':
      return 'paid'
    case 'detected':
      return 'pos_seen'
    case 'underpaid':
      return 'pos_part'
    case 'pending':
      return cancelledAt ? 'pos_unpaid' : 'pos_open'
    case 'expired':
    case 'failed':
    case 'cancelled':
      return isHeld ? 'pos_held' : 'pos_unpaid'
    case null:
      return cancelledAt || now >= expiresAt ? 'pos_unpaid' : 'pos_open'
  }
}
