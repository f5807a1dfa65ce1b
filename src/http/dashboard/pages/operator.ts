/** Pages of who runs the whole Beck: merchants, alerts and freezes. */
import { listAccounts } from '../../../accounts/accounts.sql.ts'
import { recordAct } from '../../../audit/audit-log.sql.ts'
import { FIAT_CURRENCIES } from '../../../core/assets.ts'
import { Refusal } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { listFrozenCoins } from '../../../flows/operation/gateway-books.sql.ts'
import { openMerchant } from '../../../flows/people/merchants.ts'
import { actOf } from '../../../flows/people/person.ts'
import { acknowledgeAlerts, listAlerts } from '../../../ledger/alerts.sql.ts'
import { listMails } from '../../../mails/mails.sql.ts'
import { listMerchants } from '../../../users/merchants.sql.ts'
import { html } from '../../hosted/html.ts'
import { button, card, empty, field, formProblem, notice, select, submit, table } from '../parts.ts'
import { type DashboardRow, type PersonCall, personRow, type Sheet } from '../row.ts'
import { badge, count, time } from '../words.ts'

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
