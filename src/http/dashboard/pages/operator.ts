/** Pages of who runs the whole Beck: merchants, chains and rates, alerts and freezes. */
import { listAccounts } from '../../../accounts/accounts.sql.ts'
import { recordAct } from '../../../audit/audit-log.sql.ts'
import { ASSETS, type Asset, FIAT_CURRENCIES } from '../../../core/assets.ts'
import { Refusal } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { VERSION } from '../../../core/version.ts'
import { listFrozenCoins } from '../../../flows/operation/gateway-books.sql.ts'
import { type Health, readHealth } from '../../../flows/operation/health.ts'
import { openMerchant } from '../../../flows/people/merchants.ts'
import { actOf } from '../../../flows/people/person.ts'
import { acknowledgeAlerts, listAlerts } from '../../../ledger/alerts.sql.ts'
import { listMails } from '../../../mails/mails.sql.ts'
import type { SourceState } from '../../../rates/rates.ts'
import { listMerchants } from '../../../users/merchants.sql.ts'
import type { LIMIT_SPANS, Limits } from '../../../withdrawals/limits.ts'
import { html, type Part } from '../../hosted/html.ts'
import {
  button,
  type Column,
  card,
  empty,
  facts,
  field,
  formProblem,
  notice,
  select,
  submit,
  table,
} from '../parts.ts'
import { type DashboardRow, type PersonCall, personRow, type Sheet } from '../row.ts'
import { badge, coins, count, fiat, time } from '../words.ts'

async function merchantsPage(call: PersonCall): Promise<Sheet> {
  const { gateway } = call
  const [merchants, accounts] = await Promise.all([listMerchants(gateway.db), listAccounts(gateway.db)])
  const known = new Set(
    merchants.flatMap(({ liveAccountId, testAccountId }) => [liveAccountId, testAccountId]),
  )
  const alone = accounts.filter(({ id }) => !known.has(id))
  const code = (id: (typeof merchants)[number]['liveAccountId']) =>
    id && html`<code>${showId('acct', id)}</code>`
  return {
    title: 'Merchants',
    nav: 'op-merchants',
    content: html`<header class="head"><h1>Merchants</h1></header>${formProblem(call)}
${
  merchants.length > 0
    ? table(
        'Merchants',
        [
          {
            label: 'Name',
            cell: (row) =>
              html`<strong>${row.name}</strong><br><span class="hint">${showId('mer', row.id)}</span>`,
          },
          { label: 'Live account', cell: (row) => code(row.liveAccountId) },
          { label: 'Test account', cell: (row) => code(row.testAccountId) },
          { label: 'Team', isFigure: true, cell: (row) => count(row.members) },
          { label: 'Since', isMinor: true, cell: (row) => time(row.createdAt) },
        ],
        merchants,
      )
    : empty('No merchant yet', 'Make one below.')
}
${alone.length > 0 && card('Accounts without people', html`<ul class="rows">${alone.map((account) => html`<li><div><strong>${account.name}</strong><span>${account.mode}, ${showId('acct', account.id)}</span></div><code>npx beck users invite EMAIL --account ${showId('acct', account.id)} --role owner</code></li>`)}</ul>`)}
${card('New merchant', html`<form method="post" action="${call.base}/operator/merchants"><div class="pair">${field(call, { name: 'name', label: 'Name', required: true, maxlength: 255 })}${field(call, { name: 'email', label: 'Email', type: 'email', required: true, maxlength: 254 })}${select(call, { name: 'currency', label: 'Settlement currency', choices: FIAT_CURRENCIES.map((each) => [each, each] as const) })}</div><p class="hint">You become its first owner; invite its people from its team page.</p>${submit('Make the merchant')}</form>`)}`,
  }
}

const ago = (ms: number | null): Part =>
  ms === null
    ? 'never'
    : ms < 120_000
      ? `${Math.round(ms / 1_000)} s ago`
      : `${Math.round(ms / 60_000)} min ago`

const chainsTable = (health: Health): Part =>
  table(
    'Chains',
    [
      { label: 'Chain', cell: (row) => html`<strong>${row.chain}</strong>` },
      {
        label: 'Status',
        cell: (row) =>
          html`${row.ok ? badge('ok') : html`<span class="badge bad">ill</span>`}${row.problem && html`<br><span class="hint">${row.problem}</span>`}`,
      },
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
      {
        label: 'Status',
        cell: (row) =>
          html`${row.ok ? badge('ok') : html`<span class="badge bad">ill</span>`}${row.problem && html`<br><span class="hint">${row.problem}</span>`}`,
      },
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
        cell: (row) => row.diskFreeBytes !== null && `${count(row.diskFreeBytes / 1_000_000_000n)} GB`,
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
      const shown = fiat(price.numerator / price.denominator, 'USD')
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
                cell: (rate) => fiat(rate.ratio.numerator / rate.ratio.denominator, 'USD'),
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
        ['Endpoints failing', backlog && count(backlog.endpointsFailing)],
        ['Endpoints disabled', backlog && count(backlog.endpointsDisabled)],
        ['Database answers in', `${health.database.answerMs} ms`],
        ['Database', health.database.problem],
        ['Newest backup', backlog && ago(backlog.backupAgeMs)],
        ['Open alerts', backlog && html`<a href="${call.base}/operator/alerts">${count(backlog.alerts)}</a>`],
        ['This Beck', `version ${VERSION}`],
        ['Metrics', html`<a href="${call.gateway.settings.publicUrl}/metrics">/metrics</a>`],
      ]),
    )}</div>
${limitsCard(call.installation.limits)}
<p class="hint">What only the machine itself can tell (its clock, disk, keystore, nodes and Redis as this server reaches them): <code>npx beck doctor</code>.</p>`,
  }
}

const ALERTS_MAX = 100
const MAILS_MAX = 20

async function alertsPage(call: PersonCall): Promise<Sheet> {
  const { gateway, base } = call
  const isAll = call.query.all === '1'
  const [alerts, frozen, mails] = await Promise.all([
    listAlerts(gateway.db, { all: isAll, limit: ALERTS_MAX }),
    listFrozenCoins(gateway.db),
    listMails(gateway.db, MAILS_MAX),
  ])
  return {
    title: 'Alerts & freezes',
    nav: 'op-alerts',
    content: html`<header class="head"><h1>Alerts & freezes</h1></header>${formProblem(call)}
${frozen.map((row) => notice('bad', html`<p><strong>${row.asset} on ${row.chain} pays nothing out</strong> since ${time(row.frozenAt)}: ${row.reason}</p><p>When you know why, prove the books anew: <code>npx beck reconcile --unfreeze</code> lifts it where they agree again. Only the command line can: whoever took over this server could otherwise lift it too.</p>`))}
<nav class="views" aria-label="Views"><a href="${base}/operator/alerts"${!isAll && html` aria-current="true"`}>Open</a><a href="${base}/operator/alerts?all=1"${isAll && html` aria-current="true"`}>All</a></nav>
${
  alerts.length > 0
    ? table(
        'Alerts',
        [
          { label: 'When', cell: (row) => time(row.createdAt) },
          { label: 'What', cell: (row) => html`<code>${row.kind}</code><br>${row.message}` },
          { label: 'About', isMinor: true, cell: (row) => html`<code>${row.subject}</code>` },
          {
            label: '',
            cell: (row) =>
              row.acknowledged
                ? html`<span class="hint">${row.acknowledged.by}, ${time(row.acknowledged.at)}</span>`
                : button(`${base}/operator/alerts/${row.id}/acknowledge`, 'Acknowledge', {
                    name: `Acknowledge ${row.kind}`,
                  }),
          },
        ],
        alerts,
      )
    : empty('Nothing to look at', 'What the operator must see is listed here.')
}${
  mails.length > 0 &&
  card(
    'Latest mails',
    table(
      'Latest mails',
      [
        { label: 'When', cell: (row) => time(row.createdAt) },
        { label: 'To', cell: (row) => row.recipient },
        { label: 'About', isMinor: true, cell: (row) => row.kind },
        {
          label: 'State',
          cell: (row) =>
            html`${badge(row.status.replace('_', ' '))}${row.trouble && html`<br><span class="hint">${row.trouble}</span>`}`,
        },
      ],
      mails,
    ),
  )
}`,
  }
}

export const operatorRows: readonly DashboardRow[] = [
  personRow('operator', { method: 'GET', path: '/operator/merchants', handle: merchantsPage }),
  personRow('operator', {
    method: 'POST',
    path: '/operator/merchants',
    confirm: 'recent',
    async handle(call) {
      const { form, gateway, person } = call
      const { account } = await gateway.db.transaction((tx) =>
        openMerchant(tx, person, {
          name: form.get('name'),
          email: form.get('email'),
          currency: form.get('currency') || 'USD',
          isMember: true,
        }),
      )
      return { to: `${call.base}/${showId('acct', account.id)}` }
    },
    redraw: merchantsPage,
  }),
  personRow('operator', { method: 'GET', path: '/operator/health', handle: healthPage }),
  personRow('operator', { method: 'GET', path: '/operator/alerts', handle: alertsPage }),
  personRow('operator', {
    method: 'POST',
    path: '/operator/alerts/:id/acknowledge',
    async handle(call) {
      const id = call.params.id ?? ''
      if (!/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(id))
        throw new Refusal('not_found', 'alert_not_found', 'there is no such alert')
      await call.gateway.db.transaction(async (tx) => {
        for (const { accountId, kind, subject } of await acknowledgeAlerts(tx, [id], call.person.email))
          await recordAct(
            tx,
            actOf(call.person, {
              action: 'alert.acknowledge',
              accountId,
              subject: id,
              after: { kind, subject },
            }),
          )
      })
      return { to: `${call.base}/operator/alerts`, done: 'acknowledged' }
    },
  }),
]
