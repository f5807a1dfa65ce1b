/** Before a rate is locked: the amount, where the buyer is asked for one, and the coin. */
import { fillText, type Html, html, trusted } from '../html.ts'
import type { AmountView, ChooseView, CoinOption, Frame } from '../view.ts'
import { drawMark } from './marks.ts'
import { coinAmount, drawOrder, drawProblem, withMerchant } from './parts.ts'

export function drawAmount(frame: Frame, view: AmountView): Html {
  const { words } = frame.language
  return html`<h1>${withMerchant(frame, words.pay_merchant)}</h1>
${drawOrder(frame, view.order)}
<form method="get" action="${frame.path}/coins" novalidate>
${frame.query !== '' && html`<input type="hidden" name="lang" value="${frame.language.tag}">`}
<label for="amount">${words.amount} (${view.currency})</label>
<input id="amount" name="amount" inputmode="decimal" value="${view.amount.value}" required maxlength="40" autocomplete="transaction-amount" dir="ltr" aria-describedby="amount-hint${view.amount.problem && ' amount-problem'}"${view.amount.problem && html` aria-invalid="true" autofocus`}>
<p id="amount-hint" class="hint">${fillText(words.amount_hint, { min: view.min, max: view.max })}</p>
${drawProblem('amount-problem', view.amount.problem)}
<button type="submit" class="primary">${words.continue}</button>
</form>`
}

export function drawChoose(frame: Frame, view: ChooseView): Html {
  const { words } = frame.language
  const isAny = view.coins.some(({ amount }) => amount !== null)
  return html`<h1>${withMerchant(frame, words.pay_merchant)}</h1>
${drawOrder(frame, view.order)}
<form method="post" action="${frame.path}/coin${frame.query}" novalidate>
${view.amount !== null && html`<input type="hidden" name="amount" value="${view.amount}">`}
<fieldset${view.problem && html` aria-describedby="coin-problem"`}><legend>${words.choose_title}</legend>
${isAny && html`<p class="hint">${words.choose_lead}</p>`}
${drawProblem('coin-problem', view.problem)}
${isAny ? view.coins.map((coin) => drawCoin(frame, view, coin)) : html`<p class="problem">${words.none_available}</p>`}
</fieldset>
${view.knownEmail && html`<p class="known-email">${words.email}: <bdi>${view.knownEmail}</bdi></p>`}
${
  isAny &&
  view.email &&
  html`<label for="email">${words.email}</label>
<input id="email" name="email" type="email" value="${view.email.value}" maxlength="254" autocomplete="email" dir="ltr" aria-describedby="email-hint${view.email.problem && ' email-problem'}"${view.email.problem && html` aria-invalid="true" autofocus`}>
<p id="email-hint" class="hint">${withMerchant(frame, words.email_hint)}</p>
${drawProblem('email-problem', view.email.problem)}`
}
${isAny && html`<div class="onward"><button type="submit" class="primary">${words.continue}</button></div>`}
</form>
${view.changeAmount !== null && html`<p class="other"><a href="${frame.path}/amount?${frame.query.replace('?', '')}${frame.query && '&'}amount=${encodeURIComponent(view.changeAmount)}">${words.change_amount}</a></p>`}
${view.current && html`<p class="other"><a href="${frame.path}${frame.query}">${fillText(words.keep_coin, { asset: view.current })}</a></p>`}`
}

function drawCoin(frame: Frame, view: ChooseView, coin: CoinOption): Html {
  const { words } = frame.language
  const id = `coin-${coin.asset}`
  return html`<div class="coin"><input type="radio" id="${id}" name="asset" value="${coin.asset}" data-live${coin.asset === view.selected && trusted(' checked')}${coin.amount === null && trusted(' disabled')}>
<label for="${id}">${drawMark(coin.asset)}<span class="coin-name">${coin.name} <span class="ticker">${coin.asset}</span></span> <span class="network">${coin.networkName}</span> <span class="coin-price" id="price-${coin.asset}" data-live>${coin.amount === null ? words.coin_unavailable : coinAmount(frame, coin.amount, coin.asset)}</span></label></div>`
}
