/** Where one comes in: how sales go, what there is, what needs somebody. */

import type { Fiat } from '../../../core/assets.ts'
import { Refusal } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { countAwaiting } from '../../../flows/approvals/progress.sql.ts'
import { readBalance } from '../../../flows/balance/read-balance.ts'
import { readAttention } from '../../../flows/people/attention.sql.ts'
import { readSales, type Sales } from '../../../flows/people/sales.sql.ts'
import { listPayments } from '../../../payments/list-payments.sql.ts'
import { html, type Part } from '../../hosted/html.ts'
import { lineChart } from '../chart.ts'
import { card, empty, notice, table } from '../parts.ts'
import { type DashboardRow, type PlaceCall, personRow, placeRow, type Sheet } from '../row.ts'
import { badge, count, fiat, plural, time } from '../words.ts'

/** Beside the period before: how much more or less, in words and colour. */
function change(now: bigint, before: bigint, label: string, currency: Fiat): Part {
  if (before === 0n)
    return html`<span class="change">${now === 0n ? 'Nothing yet' : `Nothing ${label}`}</span>`
  const percent = Number(((now - before) * 1_000n) / before) / 10
  const tone = percent >= 0 ? 'up' : 'down'
  return html`<span class="change ${tone}">${percent >= 0 ? '+' : '−'}${Math.abs(percent).toLocaleString('en', { maximumFractionDigits: 1 })} %</span> <span class="change">beside ${fiat(before, currency)} ${label}</span>`
}

function salesTiles(call: PlaceCall, sales: Sales): Part {
  const { currency } = call.place.account
  const tile = (label: string, now: Sales['today'], before: Sales['today'], words: string) =>
    html`<div class="tile"><h2>${label}</h2><p class="figure">${fiat(now.minor, currency)}</p><p>${change(now.minor, before.minor, words, currency)}</p><p class="hint">${plural(now.payments, 'payment')}</p></div>`
  return html`<div class="tiles">${tile('Sales today', sales.today, sales.yesterday, 'yesterday by now')}${tile('Last 7 days', sales.week, sales.weekBefore, 'in the 7 days before')}${tile('Last 30 days', sales.month, sales.monthBefore, 'in the 30 days before')}</div>`
}

async function balanceCard(call: PlaceCall): Promise<Part> {
  try {
    const balance = await readBalance(call.gateway, call.gateway.db, call.place.account)
    const { currency } = balance
    const held = balance.assets.filter(
      (asset) =>
        asset.available_atoms !== '0' || asset.pending_atoms !== '0' || asset.unresolved_atoms !== '0',
    )
    return card(
      'Balance',
      html`<div class="balance"><dl class="facts across"><div><dt>Available</dt><dd class="figure">${fiat(balance.available.value, currency)}</dd></div><div><dt>Pending</dt><dd class="figure">${fiat(balance.pending.value, currency)}</dd></div><div><dt>Total</dt><dd class="figure">${fiat(balance.total.value, currency)}</dd></div></dl>
${lineChart({ title: 'Balance of the last 30 days', points: balance.total.series.map(({ date, value }) => [date, value] as const), show: (value) => fiat(value, currency) })}
${
  held.length > 0 &&
  table(
    'By coin',
    [
      { label: 'Coin', cell: (row) => html`<strong>${row.asset}</strong>` },
      { label: 'Available', isFigure: true, cell: (row) => row.available },
      { label: 'Pending', isFigure: true, cell: (row) => row.pending },
      { label: 'Held', isFigure: true, isMinor: true, cell: (row) => row.unresolved },
      {
        label: `About, ${currency}`,
        isFigure: true,
        cell: (row) => fiat(row.available_fiat + row.pending_fiat, currency),
      },
    ],
    held,
  )
}</div>`,
      html`<a href="${call.here}/balance">All of it</a>`,
    )
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return card(
      'Balance',
      notice(
        'wait',
        html`<p>Estimates in ${call.place.account.currency} are not to be had now: ${error.message}.</p>`,
      ),
    )
  }
}

async function overviewPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const zone = place.membership.timeZone
  const reads = {
    payments: call.may('payments:read'),
    balance: call.may('balance:read'),
  }
  const [sales, attention, latest, awaited] = await Promise.all([
    reads.payments ? readSales(gateway.db, place.account.id, zone) : null,
    readAttention(gateway.db, place.account.id),
    reads.payments ? listPayments(gateway.db, place.account.id, { limit: 8 }) : null,
    call.may('approvals:write') ? countAwaiting(gateway.db, place.account.id, call.person.userId) : 0,
  ])
  const needs: readonly (readonly [number, string, string])[] = [
    [attention.underpaid, 'underpaid', `${here}/payments?filter_status=underpaid`],
    [attention.overpaid, 'overpaid', `${here}/payments?filter_status=overpaid`],
    [attention.late, 'expired or cancelled with funds that came late', `${here}/payments?held=1`],
  ]
  const open = needs.filter(([number]) => number > 0)
  const isNew = latest !== null && latest.total === 0
  return {
    title: 'Overview',
    nav: 'overview',
    content: html`<header class="head"><h1>Overview</h1>${call.may('sandbox:write') && place.account.mode === 'test' && html`<a class="button primary" href="${here}/payments/new">New test payment</a>`}</header>
${awaited > 0 && notice('wait', html`<p><strong>${plural(awaited, 'request')} ${awaited === 1 ? 'waits' : 'wait'} for your approval.</strong> <a href="${here}/approvals">Look and decide</a></p>`)}
${(open.length > 0 || attention.failingEndpoints > 0) && notice('wait', html`<p><strong>Needs somebody</strong></p><ul>${reads.payments && open.map(([number, words, path]) => html`<li><a href="${path}">${plural(number, 'payment')} ${words}</a></li>`)}${attention.failingEndpoints > 0 && call.may('webhooks:read') && html`<li><a href="${here}/webhooks">${plural(attention.failingEndpoints, 'webhook endpoint')} failing</a></li>`}</ul>`)}
${isNew && firstSteps(call)}
${sales && salesTiles(call, sales)}
${sales && !isNew && card('Sales by day', lineChart({ title: 'Sales of the last 30 days', points: sales.days.map(({ day, minor }) => [day, Number(minor) / 100] as const), show: (value) => fiat(value, place.account.currency), isBars: true }), html`<span class="hint">Created ${count(sales.created)}, paid ${count(sales.month.payments)} in 30 days</span>`)}
${reads.balance && (await balanceCard(call))}
${latest && !isNew && card('Latest payments', latestPayments(call, latest.items), html`<a href="${here}/payments">All payments</a>`)}`,
  }
}

function latestPayments(call: PlaceCall, items: Awaited<ReturnType<typeof listPayments>>['items']): Part {
  const zone = call.place.membership.timeZone
  return table(
    'Latest payments',
    [
      {
        label: 'Amount',
        isFigure: true,
        cell: (row) =>
          html`<a href="${call.here}/payments/${showId('pay', row.id)}">${fiat(row.netMinor, row.fiatCurrency)}</a>`,
      },
      { label: 'Status', cell: (row) => badge(row.status) },
      { label: 'Coin', cell: (row) => row.asset },
      { label: 'Reference', isMinor: true, cell: (row) => row.reference },
      { label: 'Created', cell: (row) => time(row.createdAt, zone) },
    ],
    items,
  )
}

/** Until the first payment: what to do, in order. */
function firstSteps(call: PlaceCall): Part {
  const { session, here, base } = call
  const isSecured = session.hasTotp || session.hasPasskey
  const step = (isDone: boolean, title: string, text: string, path: string | false) =>
    html`<li${isDone && html` class="done"`}><h3>${title}${isDone && html` <span class="badge good">done</span>`}</h3><p>${text}</p>${!isDone && path && html`<a class="button plain" href="${path}">${title}</a>`}</li>`
  return card(
    'First steps',
    html`<ol class="first-steps">${step(isSecured, 'Secure your sign-in', 'A passkey or an authenticator app. Nothing live opens without one.', `${base}/me`)}${step(false, 'Make a test payment', 'Watch it being seen, confirmed and settled on a simulated chain, with coins that cost nothing.', call.may('sandbox:write') && call.place.account.mode === 'test' && `${here}/payments/new`)}${step(false, 'Create an API key', 'Your server sends it with every request. The quickstart fills it in.', call.may('api_keys:write') && `${here}/keys/new`)}</ol>`,
  )
}

export const overviewRows: readonly DashboardRow[] = [
  personRow('person', {
    method: 'GET',
    path: '',
    async handle(call) {
      const [first] = call.session.memberships
      const account = first && (first.testAccountId ?? first.liveAccountId)
      const isLiveOpen = call.session.factor !== 'password' && first?.liveAccountId
      if (account)
        return {
          to: `${call.base}/${showId('acct', isLiveOpen || account)}${call.query.done ? `?done=${encodeURIComponent(call.query.done)}` : ''}`,
        }
      if (call.session.isOperator) return { to: `${call.base}/operator/merchants` }
      return {
        title: 'Overview',
        width: 'narrow',
        content: empty('You belong to no merchant', 'Ask an owner or admin of your team for an invitation.'),
      }
    },
  }),
  placeRow('overview:read', { method: 'GET', path: '/:account', handle: overviewPage }),
]
