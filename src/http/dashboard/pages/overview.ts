/** Where one comes in: how sales go, what there is, what needs somebody. */

import { listApiKeys } from '../../../accounts/api-keys.sql.ts'
import type { Fiat } from '../../../core/assets.ts'
import { Refusal } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { divideTowardsZero } from '../../../core/money.ts'
import { countAwaiting } from '../../../flows/approvals/progress.sql.ts'
import { readBalance } from '../../../flows/balance/read-balance.ts'
import { type Attention, readAttention } from '../../../flows/people/attention.sql.ts'
import { readSales, type Sales } from '../../../flows/people/sales.sql.ts'
import { type ListedPayment, listPayments } from '../../../payments/list-payments.sql.ts'
import { waitsForFunds } from '../../../payments/payment.ts'
import { html, type Part } from '../../hosted/html.ts'
import { lineChart } from '../chart.ts'
import { card, empty, notice, table } from '../parts.ts'
import { type DashboardRow, type PlaceCall, personRow, placeRow, type Sheet } from '../row.ts'
import { badge, count, fiat, plural, time } from '../words.ts'

/** Beside the period before: how much more or less, in words and colour. */
function change(now: bigint, before: bigint, label: string, currency: Fiat): Part {
  if (before === 0n)
    return html`<span class="change">${now === 0n ? 'Nothing yet' : `Nothing ${label}`}</span>`
  const percent = Number(divideTowardsZero((now - before) * 1_000n, before)) / 10
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
  const [sales, attention, latest, awaited, keys] = await Promise.all([
    reads.payments ? readSales(gateway.db, place.account.id, zone) : null,
    readAttention(gateway.db, place.account),
    reads.payments ? listPayments(gateway.db, place.account.id, { limit: 8 }) : null,
    call.may('approvals:write') ? countAwaiting(gateway.db, place.account.id, call.person.userId) : 0,
    call.may('api_keys:write') ? listApiKeys(gateway.db, place.account.id) : [],
  ])
  const isNew = latest !== null && latest.total === 0
  return {
    title: 'Overview',
    nav: 'overview',
    // What is tried out is seen settling here. Of a live shop there is always something under way, and each look costs.
    isLive:
      place.account.mode === 'test' && (latest?.items.some(({ status }) => waitsForFunds(status)) ?? false),
    content: html`<header class="head"><h1>Overview</h1>${call.may('sandbox:write') && place.account.mode === 'test' && html`<a class="button primary" href="${here}/payments/new">New test payment</a>`}</header>
${awaited > 0 && notice('wait', html`<p><strong>${plural(awaited, 'request')} ${awaited === 1 ? 'waits' : 'wait'} for your approval.</strong> <a href="${here}/approvals">Look and decide</a></p>`)}
${needsSomebody(call, attention)}
${firstSteps(call, { hasPayment: latest !== null && latest.total > 0, hasUsedKey: keys.some(({ lastUsedAt }) => lastUsedAt !== null) })}
${sales && salesTiles(call, sales)}
${sales && !isNew && card('Sales by day', lineChart({ title: 'Sales of the last 30 days', points: sales.days.map(({ day, minor }) => [day, Number(minor) / 100] as const), show: (value) => fiat(value, place.account.currency), isBars: true }), html`<span class="hint">Created ${count(sales.created)}, paid ${count(sales.month.payments)} in 30 days</span>`)}
${reads.balance && (await balanceCard(call))}
${latest && !isNew && card('Latest payments', latestPayments(call, latest.items), html`<a href="${here}/payments">All payments</a>`)}`,
  }
}

function latestPayments(call: PlaceCall, items: readonly ListedPayment[]): Part {
  const zone = call.place.membership.timeZone
  return table(
    'Latest payments',
    [
      {
        label: 'Net',
        isFigure: true,
        cell: (row) =>
          html`<a href="${call.here}/payments/${showId('pay', row.id)}">${fiat(row.netMinor, row.fiatCurrency)}</a>`,
      },
      { label: 'Status', cell: (row) => badge(row.status) },
      { label: 'Coin', cell: (row) => row.asset },
      { label: 'Reference', isMinor: true, isNarrow: true, cell: (row) => row.reference },
      { label: 'Created', cell: (row) => time(row.createdAt, zone) },
    ],
    items,
  )
}

/** What is not in order, each with the way to where it is put in order. */
function needsSomebody(call: PlaceCall, attention: Attention): Part {
  const { here } = call
  const zone = call.place.membership.timeZone
  const payments: readonly (readonly [number, string, string])[] = [
    [attention.underpaid, 'underpaid', 'filter_status=underpaid'],
    [attention.overpaid, 'overpaid', 'filter_status=overpaid'],
    [attention.late, 'expired or cancelled with funds that came late', 'held=1'],
  ]
  const items = [
    ...payments.map(
      ([number, words, query]) =>
        number > 0 &&
        call.may('payments:read') &&
        html`<a href="${here}/payments?${query}">${plural(number, 'payment')} ${words}</a>`,
    ),
    attention.failingEndpoints > 0 &&
      call.may('webhooks:read') &&
      html`<a href="${here}/webhooks">${plural(attention.failingEndpoints, 'webhook endpoint')} failing</a>`,
    ...attention.frozenCoins.map(
      ({ asset, since }) =>
        call.may('balance:read') &&
        html`${asset} is not paid out since ${time(since, zone)}: the operator looks into a difference between books and chain. Payments go on.`,
    ),
  ].filter((item) => item !== false)
  return (
    items.length > 0 &&
    notice(
      'wait',
      html`<p><strong>Needs somebody</strong></p><ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`,
    )
  )
}

/** What to do first, in order, until it is done. */
function firstSteps(
  call: PlaceCall,
  done: { readonly hasPayment: boolean; readonly hasUsedKey: boolean },
): Part {
  const { session, here, base, place } = call
  const isSecured = session.hasTotp || session.hasPasskey
  const isLive = place.account.mode === 'live'
  // A shop may sell by links alone: on live the first payment is the last step, and for whoever makes no keys on either side.
  const isKeyNeeded = !isLive && call.may('api_keys:write')
  if (done.hasPayment && (!isKeyNeeded || (isSecured && done.hasUsedKey))) return null
  const step = (isOver: boolean, title: string, text: string, path: string | false) =>
    html`<li${isOver && html` class="done"`}><h3>${title}${isOver && html` <span class="badge good">done</span>`}</h3><p>${text}</p>${!isOver && path && html`<a class="button plain" href="${path}">${title}</a>`}</li>`
  return card(
    'First steps',
    html`<ol class="first-steps">${step(isSecured, 'Secure your sign-in', 'A passkey or an authenticator app. Nothing live opens without one.', `${base}/me`)}${
      isLive
        ? step(
            done.hasPayment,
            'Take the first payment',
            'A payment link needs no code; your server makes payments with a live key.',
            call.may('payment_links:write') && `${here}/links/new`,
          )
        : step(
            done.hasPayment,
            'Make a test payment',
            'Watch it being seen, confirmed and settled on a simulated chain, with coins that cost nothing.',
            call.may('sandbox:write') && `${here}/payments/new`,
          )
    }${step(done.hasUsedKey, 'Call the API with a key', 'Your server sends it with every request. The quickstart fills it in.', call.may('api_keys:write') && `${here}/keys/new`)}</ol>`,
  )
}

export const overviewRows: readonly DashboardRow[] = [
  personRow('person', 'GET /', {
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
  placeRow('overview:read', 'GET /:account', { handle: overviewPage }),
]
