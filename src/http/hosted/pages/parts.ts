/** Pieces that several pages are made of. */
import { fill, fillText, type Html, html } from '../html.ts'
import { confirmationsOf, showCoin, showCount, showMinutes, showTime } from '../language.ts'
import type { Words } from '../languages/en.ts'
import type {
  CheckoutView,
  Countdown,
  Frame,
  NoticeView,
  Order,
  ProgressView,
  Target,
  Transaction,
  TransactionSearch,
} from '../view.ts'

/** Whose title and sentence are among the words. */
type Headed = Exclude<CheckoutView['state'], 'amount' | 'choose'> | NoticeView['about']

export const merchantName = (frame: Frame): string => frame.merchant?.name ?? ''

export const drawOrder = ({ language: { words } }: Frame, { label, price }: Order): Html | null =>
  label === null && price === null
    ? null
    : html`<section class="order" aria-label="${words.summary}">${price && html`<p class="price">${price}</p>`}${label && html`<p class="label">${label}</p>`}</section>`

/** Label and value pairs; rows without a value are left out. */
export const drawRows = (rows: readonly (readonly [string, Html | string | null])[]): Html =>
  html`<dl class="facts">${rows.map(([label, value]) => value !== null && html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`

/** Read in threes, and still one number to whoever copies it: the gaps are the style's. */
function inThrees(shown: string): Html {
  const [whole = '', mark = '', fraction = ''] = shown.split(/([.,])/)
  const groups = (digits: string, pattern: RegExp) =>
    digits.length > 4
      ? (digits.match(pattern) ?? []).map((three, i) => (i === 0 ? three : html`<i>${three}</i>`))
      : digits
  return html`${groups(whole, /^\d{1,3}(?=(?:\d{3})*$)|\d{3}/g)}${mark}${groups(fraction, /\d{1,3}/g)}`
}

export const coinAmount = (frame: Frame, amount: string, asset: string): Html =>
  html`<bdi class="amount">${inThrees(showCoin(frame.language, amount))} ${asset}</bdi>`

/** Read and compared in fours, and still one word to whoever copies it. */
const inFours = (address: string): Html =>
  html`${(address.match(/.{1,4}/g) ?? []).map((four) => html`<i>${four}</i>`)}`

export const drawUsualTime = (frame: Frame, minutes: number | null): Html | null =>
  minutes === null
    ? null
    : html`<p class="hint" data-usual>${fillText(frame.language.words.usual_time, { time: showMinutes(frame.language, minutes) })}</p>`

/** The server knows no visitor's clock: the script shows it by that. */
export const drawTime = (frame: Frame, instant: Date): Html =>
  html`<time datetime="${instant.toISOString()}">${showTime(frame.language, instant)}</time>`

/** Where the buyer can name a transaction. */
export const drawSearchLink = (frame: Frame, search: TransactionSearch): Html =>
  search.isAsked
    ? drawSearch(frame, search)
    : html`<p class="other"><a href="${frame.path}/transaction${frame.query}">${frame.language.words.already_paid}</a></p>`

const copyButton = (frame: Frame, text: string, label: string): Html =>
  html`<button type="button" class="copy" data-copy="${text}" data-copied="${frame.language.words.copied}" aria-label="${label}" hidden>${frame.language.words.copy}</button>`

/** What the page is about, and the sentence under it, with the merchant's name in it. */
export function drawHead(frame: Frame, about: Headed, lead: keyof Words = `${about}_lead`): Html {
  return drawHeadSaying(frame, about, withMerchant(frame, frame.language.words[lead]))
}

export function drawHeadSaying(frame: Frame, about: Headed, lead: Html): Html {
  return html`<h1>${frame.language.words[`${about}_title`]}</h1>
<p class="lead">${lead}</p>`
}

/** How many of the confirmations are there, as a bar and in words; the script counts on. */
export function drawConfirmations({ language }: Frame, view: ProgressView): Html {
  const count = confirmationsOf(language, view.requiredConfirmations)
  return html`<p class="confirmations"><progress max="${view.requiredConfirmations}" value="${view.confirmations}" aria-labelledby="confirmations"></progress> <span id="confirmations" data-count="${count}">${fillText(count, { n: showCount(language, view.confirmations) })}</span></p>`
}

/** Where to send how much, in the order of a phone, which cannot scan itself: amount, ways into a wallet, address, code. */
export function drawTarget(frame: Frame, target: Target, amountLabel: string): Html {
  const { words } = frame.language
  const amount = html`<bdi class="amount" dir="ltr"><span data-pay-amount>${inThrees(showCoin(frame.language, target.amount))}</span> ${target.asset}</bdi>`
  return html`<section class="target">
<dl><div><dt>${amountLabel}</dt><dd>${amount} ${copyButton(frame, target.amount, words.copy_amount)}</dd></div></dl>
${
  target.isToken &&
  html`<p class="warning" role="note"><strong>${fillText(words.only_token, { network: target.networkName, asset: target.asset })}</strong> ${words.only_token_lead}</p>`
}
${
  target.walletLink &&
  html`<p class="apps"><a class="button" href="${target.walletLink}">${words.open_wallet}</a>${target.appLinks.map(({ name, url }) => html` <a class="button app" href="${url}" rel="noopener noreferrer">${fillText(words.pay_with, { wallet: name })}</a>`)}</p><p class="hint" data-no-wallet hidden>${words.no_wallet}</p>`
}
${frame.isTest && html`<form method="post" action="${frame.path}/simulate${frame.query}" class="apps"><button name="confirmations" value="0">${words.simulate_wallet}</button><button>${words.simulate}</button></form>`}
${
  target.transfer &&
  html`<div class="wallets" data-transfer="${JSON.stringify(target.transfer)}" data-payment="${target.paymentNumber}" data-pay-with="${words.pay_with}" data-opened="${words.wallet_opened}" data-sent="${words.wallet_sent}" data-failed="${words.wallet_failed}" data-refused="${words.wallet_refused}" data-chain="${fillText(words.wallet_chain, { network: target.chainName })}" data-silent="${words.wallet_silent}" hidden></div>`
}
<dl>
<div><dt>${words.to_address}</dt><dd><bdi class="address" dir="ltr">${inFours(target.address)}</bdi> ${copyButton(frame, target.address, words.copy_address)}</dd></div>
<div><dt>${words.network}</dt><dd>${target.networkName}</dd></div>
<div><dt>${words.rate}</dt><dd>${target.rate}</dd></div>
</dl>
<p class="hint">${words.network_fee_note}</p>
<div class="code">${target.qr}${!target.hasAmount && html`<p class="hint">${words.qr_alone}</p>`}${
    target.plainQr &&
    html`<details><summary>${words.plain_code}</summary><p class="hint">${fill(words.plain_code_lead, { amount: coinAmount(frame, target.amount, target.asset) })}</p>${target.plainQr}</details>`
  }</div>
</section>`
}

export function drawCountdown(frame: Frame, { nowMs, endsMs }: Countdown): Html {
  const { words } = frame.language
  const minutes = Math.max(0, Math.ceil((endsMs - nowMs) / 60_000))
  return html`<p class="countdown" data-now="${nowMs}" data-ends="${endsMs}" data-announced="${words.time_announced}">${words.time_left}: <time>${showMinutes(frame.language, minutes)}</time></p>`
}

/** What people name when they ask: too long to stand beside its label, so it stands under it. */
export function drawReferences(
  frame: Frame,
  transactions: readonly Transaction[],
  paymentNumber: string | null = null,
): Html | null {
  const { words } = frame.language
  if (paymentNumber === null && transactions.length === 0) return null
  return html`<dl class="references">${
    paymentNumber !== null &&
    html`<div><dt>${words.payment_number}</dt><dd><bdi class="hash" dir="ltr">${paymentNumber}</bdi> ${copyButton(frame, paymentNumber, words.copy_number)}</dd></div>`
  }${transactions.map(
    ({ hash, url }) =>
      html`<div><dt>${words.transaction}</dt><dd><bdi class="hash" dir="ltr">${hash}</bdi>${url && html` <a href="${url}" rel="noopener noreferrer" target="_blank">${words.view_transaction}</a>`}</dd></div>`,
  )}</dl>`
}

/** Words with the merchant's name in them. */
export const withMerchant = (
  frame: Frame,
  sentence: string,
  values: Readonly<Record<string, Html>> = {},
): Html => html`${fill(sentence, { merchant: merchantName(frame), ...values })}`

/** @param seconds - After which the buyer goes on by himself; the script counts, and lets him stay. Null where he does not. */
export function drawReturn(frame: Frame, url: string | null, seconds: number | null = null): Html | null {
  if (url === null) return null
  const { words } = frame.language
  const returning = fillText(words.returning, { merchant: merchantName(frame), seconds: '{seconds}' })
  return html`<p><a class="button" href="${url}" data-return${seconds !== null && html` data-returning="${returning}" data-seconds="${seconds}" data-stay="${words.stay}"`} rel="noreferrer">${withMerchant(frame, words.return_to)}</a></p>`
}

/** "I already paid": a transaction id, and what became of it. */
export function drawSearch(frame: Frame, search: TransactionSearch): Html {
  const { words } = frame.language
  return html`<details class="search"${search.isAsked && html` open`}><summary>${words.already_paid}</summary>
<form method="get" action="${frame.path}/transaction">
${frame.query !== '' && html`<input type="hidden" name="lang" value="${frame.language.tag}">`}
<label for="transaction">${words.tx_label}</label>
<input id="transaction" name="id" value="${search.typed}" required maxlength="200" autocomplete="off" autocapitalize="none" spellcheck="false" dir="ltr" aria-describedby="transaction-hint${search.answer && ' transaction-answer'}"${search.isProblem && html` aria-invalid="true"`}>
<p id="transaction-hint" class="hint">${words.tx_hint}</p>
${search.answer && html`<p id="transaction-answer" class="${search.isProblem ? 'problem' : 'answer'}" role="status">${search.answer}</p>`}
<button type="submit">${words.tx_check}</button>
</form></details>`
}

export const drawProblem = (id: string, problem: string | null): Html | null =>
  problem === null ? null : html`<p id="${id}" class="problem" role="alert">${problem}</p>`
