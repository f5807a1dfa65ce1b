/** What the operator must look at: alerts, coins that pay nothing out, and what became of the latest mails. */
import { acknowledgeAlerts, type RaisedAlert, readAlerts } from '../../../alerts/alerts.sql.ts'
import { notFound } from '../../../core/errors.ts'
import { listFrozenCoins } from '../../../flows/operation/gateway-books.sql.ts'
import { recordActOf } from '../../../flows/people/person.ts'
import { listMails, type SentMail } from '../../../mails/mails.sql.ts'
import { html, type Part } from '../../hosted/html.ts'
import { listPage } from '../list.ts'
import { copyColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import { button, card, empty, formProblem, notice, table } from '../parts.ts'
import { type DashboardRow, type PersonCall, personRow, type Sheet } from '../row.ts'
import { badge, time } from '../words.ts'

const MAILS_MAX = 20

const FILTERS: readonly Filter[] = [
  { ...choiceOf('filter_state', 'State', ['acknowledged', 'all']), any: 'open' },
  { name: 'filter_kind', label: 'What, such as frozen', kind: 'text' },
  { name: 'filter_subject', label: 'About, the whole of it', kind: 'text' },
  { name: 'filter_account', label: 'Account id', kind: 'text' },
]

async function alertsPage(call: PersonCall): Promise<Sheet> {
  const { gateway, base } = call
  const [frozen, mails] = await Promise.all([listFrozenCoins(gateway.db), listMails(gateway.db, MAILS_MAX)])
  return listPage<RaisedAlert>(call, {
    nav: 'op-alerts',
    title: 'Alerts & freezes',
    lead: html`${formProblem(call)}${frozen.map((row) => notice('bad', html`<p><strong>${row.asset} on ${row.chain} pays nothing out</strong> since ${time(row.frozenAt)}: ${row.reason}</p><p>When you know why, prove the books anew: <code>npx beck reconcile --unfreeze</code> lifts it where they agree again. Only the command line can: whoever took over this server could otherwise lift it too.</p>`))}`,
    read: (query) => readAlerts(gateway.db, query),
    filters: FILTERS,
    tabs: [
      ['Open', ''],
      ['All', 'filter_state=all'],
    ],
    columns: [
      { label: 'When', sort: 'created_at', cell: (row) => time(row.createdAt) },
      { label: 'What', cell: (row) => html`<code>${row.kind}</code><br>${row.message}` },
      copyColumn('About', 'about', 'what it is about', (row) => row.subject, { isMinor: true }),
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
    emptyPart: empty('Nothing to look at', 'What the operator must see is listed here.'),
    below: mailsCard(mails),
  })
}

const mailsCard = (mails: readonly SentMail[]): Part =>
  mails.length > 0 &&
  card(
    'Latest mails',
    html`${table(
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
    )}<p class="hint">The latest ${MAILS_MAX} and no more: whether mail leaves at all.</p>`,
  )

export const operatorAlertRows: readonly DashboardRow[] = [
  personRow('operator', 'GET /operator/alerts', { handle: alertsPage }),
  personRow('operator', 'POST /operator/alerts/:id/acknowledge', {
    async handle(call) {
      const id = call.params.id ?? ''
      if (!/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(id))
        throw notFound('alert_not_found', 'there is no such alert')
      await call.gateway.db.transaction(async (tx) => {
        for (const { accountId, kind, subject } of await acknowledgeAlerts(tx, [id], call.person.email))
          await recordActOf(tx, call.person, {
            action: 'alert.acknowledge',
            accountId,
            subject: id,
            after: { kind, subject },
          })
      })
      return { to: `${call.base}/operator/alerts`, done: 'acknowledged' }
    },
  }),
]
