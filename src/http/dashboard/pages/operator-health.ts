/** How the whole Beck does, for who runs it: chains, what runs, rates, what waits, the signer's limits. */
import { ASSETS, type Asset } from '../../../core/assets.ts'
import { Refusal } from '../../../core/errors.ts'
import { divideDown } from '../../../core/money.ts'
import { VERSION } from '../../../core/version.ts'
import type { FAILING_STATES } from '../../../flows/operation/failing-deliveries.sql.ts'
import { type Health, readHealth } from '../../../flows/operation/health.ts'
import type { SourceState } from '../../../rates/rates.ts'
import type { LIMIT_SPANS, Limits } from '../../../withdrawals/limits.ts'
import { html, type Part } from '../../hosted/html.ts'
import { type Column, card, facts, notice, table } from '../parts.ts'
import { type DashboardRow, type PersonCall, personRow, type Sheet } from '../row.ts'
import { badge, coins, count, fiat, time } from '../words.ts'

const ago = (ms: number | null): Part =>
  ms === null
    ? 'never'
    : ms < 120_000
      ? `${Math.round(ms / 1_000)} s ago`
      : `${Math.round(ms / 60_000)} min ago`

/** Whether it is well, and if not, why. */
const statusColumn: Column<{ readonly ok: boolean; readonly problem: string | null }> = {
  label: 'Status',
  cell: (row) =>
    html`${row.ok ? badge('ok') : html`<span class="badge bad">ill</span>`}${row.problem && html`<br><span class="hint">${row.problem}</span>`}`,
}

const chainsTable = (health: Health): Part =>
  table(
    'Chains',
    [
      { label: 'Chain', cell: (row) => html`<strong>${row.chain}</strong>` },
      statusColumn,
      { label: 'Height', isFigure: true, cell: (row) => row.tipHeight !== null && count(row.tipHeight) },
      { label: 'Newest block', isMinor: true, cell: (row) => ago(row.tipAgeMs) },
      { label: 'Seen', cell: (row) => ago(row.pollAgeMs) },
      {
        label: 'Books proven',
        isMinor: true,
        cell: (row) => ago(health.backlog?.proofAgesMs[row.chain] ?? null),
      },
      {
        label: 'Fresh addresses',
        isFigure: true,
        isMinor: true,
        cell: (row) => {
          const fresh = health.backlog?.freshAddresses[row.chain]
          return fresh !== undefined && count(fresh)
        },
      },
    ],
    health.chains,
  )

/** Who plays each part of Beck, and what he is short of. */
const rolesTable = (health: Health): Part =>
  table(
    'What runs',
    [
      { label: 'Part', cell: (row) => html`<strong>${row.role}</strong>` },
      statusColumn,
      { label: 'Run', isFigure: true, cell: (row) => count(row.running) },
      { label: 'Seen', isMinor: true, cell: (row) => ago(row.seenAgeMs) },
      {
        label: 'Answers late by',
        isFigure: true,
        isMinor: true,
        cell: (row) => `${count(row.loopLagMs)} ms`,
      },
      {
        label: 'Disk free',
        isFigure: true,
        isMinor: true,
        cell: (row) =>
          row.diskFreeBytes !== null && `${count(divideDown(row.diskFreeBytes, 1_000_000_000n))} GB`,
      },
      { label: 'Version', cell: (row) => row.versions.join(' and ') },
    ],
    health.roles,
  )

/** How much the signer lets out, as far as this process was told. */
const limitsCard = (limits: Limits): Part => {
  const held = ASSETS.flatMap((asset) => {
    const ofAsset = limits[asset]
    return ofAsset ? [{ asset, ofAsset }] : []
  })
  const cell =
    (span: (typeof LIMIT_SPANS)[number]) =>
    ({ asset, ofAsset }: (typeof held)[number]) => {
      const atoms = ofAsset[span]
      return atoms === undefined ? 'no limit' : coins(atoms, asset)
    }
  return card(
    'Signer’s limits',
    html`${
      held.length > 0
        ? table(
            'Signer’s limits',
            [
              { label: 'Coin', cell: ({ asset }) => html`<strong>${asset}</strong>` },
              { label: 'One payout', isFigure: true, cell: cell('tx') },
              { label: 'An hour', isFigure: true, cell: cell('hour') },
              { label: 'A day', isFigure: true, cell: cell('day') },
            ],
            held,
          )
        : html`<p>None are set here.</p>`
    }<p class="hint">What <code>BECK_SIGNER_LIMITS</code> says to this server. The signer goes by its own, which nobody but who runs its machine can change.</p>`,
  )
}

/** What each exchange says in dollars, and whether it counts. */
function sourcesTable(sources: readonly SourceState[]): Part {
  const coin = (asset: Asset): Column<SourceState> => ({
    label: asset,
    isFigure: true,
    cell(source) {
      const price = source.price(asset, 'USD')
      if (!price) return null
      const shown = fiat(divideDown(price.numerator, price.denominator), 'USD')
      return source.counts(asset, 'USD') ? shown : html`<s>${shown}</s><br><span class="hint">left out</span>`
    },
  })
  return html`${table(
    'Rates by exchange',
    [
      { label: 'Exchange', cell: (source) => html`<strong>${source.name}</strong>` },
      {
        label: 'Answered',
        cell: (source) =>
          html`${source.answeredAt ? time(source.answeredAt) : 'not yet'}${source.problem && html`<br><span class="hint">${source.problem}</span>`}`,
      },
      ...ASSETS.map(coin),
    ],
    sources,
  )}<p class="hint">A rate is the median of at least two exchanges. Left out is what is older than a minute, or 3 % away from the others.</p>`
}

async function healthPage(call: PersonCall): Promise<Sheet> {
  const health = await readHealth(call.gateway, call.installation.chains)
  const rates = ASSETS.flatMap((asset) => {
    try {
      return [call.gateway.rates.live.rate(asset, 'USD')]
    } catch (error) {
      if (error instanceof Refusal) return []
      throw error
    }
  })
  const backlog = health.backlog
  const sources = call.gateway.rates.live.sources()
  const endpoints = (state: (typeof FAILING_STATES)[number], number: number): Part =>
    html`<a href="${call.base}/operator/endpoints?filter_state=${state}">${count(number)}</a>`
  return {
    title: 'Chains & health',
    nav: 'op-health',
    content: html`<header class="head"><h1>Chains & health</h1></header>${!health.ok && notice('wait', html`<p><strong>Something is not well.</strong> Coins whose chain or rate is ill are refused until it is well again; nothing is guessed.</p>`)}
${chainsTable(health)}
${health.roles.length > 0 && card('What runs', rolesTable(health))}
${sources.length > 0 && card('Rates by exchange', sourcesTable(sources))}
<div class="columns">${card(
      'Live rates',
      rates.length > 0
        ? table(
            'Live rates',
            [
              { label: 'Coin', cell: (rate) => html`<strong>${rate.asset}</strong>` },
              {
                label: 'USD',
                isFigure: true,
                cell: (rate) => fiat(divideDown(rate.ratio.numerator, rate.ratio.denominator), 'USD'),
              },
              { label: 'From', cell: (rate) => rate.source },
              { label: 'At', isMinor: true, cell: (rate) => time(rate.at) },
            ],
            rates,
          )
        : html`<p class="hint">${health.rates.problem ?? 'None yet.'} They are read while a live account needs them.</p>`,
    )}${card(
      'Waiting',
      facts([
        ['Payments with news', backlog && count(backlog.decisionsDue)],
        ['Deliveries', backlog && count(backlog.deliveriesPending)],
        ['Delivery due longest', backlog && ago(backlog.deliveryDueAgeMs)],
        ['Endpoints failing', backlog && endpoints('failing', backlog.endpointsFailing)],
        ['Endpoints disabled', backlog && endpoints('disabled', backlog.endpointsDisabled)],
        ['Database answers in', `${health.database.answerMs} ms`],
        ['Database', health.database.problem],
        ['Rows of the books proven', backlog && ago(backlog.rowsProofAgeMs)],
        ['Newest backup', backlog && ago(backlog.backupAgeMs)],
        ['Open alerts', backlog && html`<a href="${call.base}/operator/alerts">${count(backlog.alerts)}</a>`],
        ['This Beck', `version ${VERSION}`],
      ]),
    )}</div>
${limitsCard(call.installation.limits)}
<p class="hint">What only the machine itself can tell (its clock, disk, keystore, nodes and Redis as this server reaches them): <code>npx beck doctor</code>.</p>`,
  }
}

export const operatorHealthRows: readonly DashboardRow[] = [
  personRow('operator', 'GET /operator/health', { handle: healthPage }),
]
