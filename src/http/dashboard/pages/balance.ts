/** What the merchant has: coins to the atom, and what they are worth about. */
import { FIAT_CURRENCIES, isFiat } from '../../../core/assets.ts'
import { readBalance } from '../../../flows/balance/read-balance.ts'
import { html } from '../../hosted/html.ts'
import { lineChart } from '../chart.ts'
import { card, table } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { fiat } from '../words.ts'

async function balancePage(call: PlaceCall): Promise<Sheet> {
  const { account } = call.place
  const asked = call.query.currency ?? ''
  // Past days are kept in all of them.
  const shownIn = isFiat(asked) ? asked : account.currency
  const balance = await readBalance(call.gateway, call.gateway.db, { ...account, currency: shownIn })
  const { currency } = balance
  const mayWithdraw = call.may('withdrawals:write')
  const tile = (label: string, figure: typeof balance.total, text: string) =>
    html`<div class="tile"><h2>${label}</h2><p class="figure">${fiat(figure.value, currency)}</p><p class="hint">${text}</p><p class="hint">30 days ago ${fiat(figure.previous, currency)}</p></div>`
  return {
    title: 'Balance',
    nav: 'balance',
    content: html`<header class="head"><h1>Balance</h1><div class="actions">${mayWithdraw && html`<a class="button primary" href="${call.here}/withdrawals/new">Withdraw</a>`}</div></header>
<nav class="views" aria-label="Currency">${FIAT_CURRENCIES.map((each) => html`<a href="${call.here}/balance${each !== account.currency && `?currency=${each}`}"${each === shownIn && html` aria-current="true"`}>${each}</a>`)}</nav>
<div class="tiles">${tile('Available', balance.available, 'can be withdrawn')}${tile('Pending', balance.pending, 'seen, not confirmed yet')}${tile('Total', balance.total, 'both together')}</div>
${card('Total of the last 30 days', lineChart({ title: 'Total balance of the last 30 days', points: balance.total.series.map(({ date, value }) => [date, value] as const), show: (value) => fiat(value, currency) }))}
${table(
  'Balance by coin',
  [
    { label: 'Coin', cell: (row) => html`<strong>${row.asset}</strong>` },
    { label: 'Available', isFigure: true, cell: (row) => row.available },
    { label: `About, ${currency}`, isFigure: true, cell: (row) => fiat(row.available_fiat, currency) },
    { label: 'Pending', isFigure: true, cell: (row) => row.pending },
    { label: 'Held for a decision', isFigure: true, isMinor: true, cell: (row) => row.unresolved },
    {
      label: '',
      cell: (row) =>
        mayWithdraw &&
        row.available_atoms !== '0' &&
        html`<a href="${call.here}/withdrawals/new?asset=${row.asset}&amount=${row.available}">Withdraw all</a>`,
    },
  ],
  balance.assets,
)}
<p class="hint">Coins are exact. ${currency} is an estimate at the rates of now, rounded down. What is held for a withdrawal, or for a decision about a payment, is in no total.</p>`,
  }
}

export const balanceRows: readonly DashboardRow[] = [
  placeRow('balance:read', 'GET /:account/balance', { handle: balancePage }),
]
