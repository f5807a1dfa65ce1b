/** What merchants' servers do not take, of all merchants: endpoints in trouble, and deliveries that met no good answer. */
import { MODES } from '../../../core/assets.ts'
import { showId } from '../../../core/ids.ts'
import { FAILING_MAX } from '../../../events/delivery.ts'
import {
  FAILING_STATES,
  type FailingDelivery,
  type FailingEndpoint,
  listFailingDeliveries,
  listFailingEndpoints,
  UNDELIVERED_STATES,
  WAITING_COUNTED_MAX,
} from '../../../flows/operation/failing-deliveries.sql.ts'
import { type Html, html, type Part } from '../../hosted/html.ts'
import { listPage } from '../list.ts'
import { copyColumn, createdColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import { type Column, empty, tabs } from '../parts.ts'
import { type DashboardRow, type PersonCall, personRow, type Sheet } from '../row.ts'
import { badge, count, plural, time } from '../words.ts'

const DISABLED_WORDS = {
  gone: 'it answered 410 Gone',
  failing: `no good answer for ${FAILING_MAX.words}`,
} as const

/** Pages that belong together, above each of them, and what neither shows. */
const lead = ({ base }: PersonCall, current: 'deliveries' | 'endpoints'): Html =>
  html`${tabs('Webhooks', `${base}/operator`, current, [
    ['deliveries', 'Deliveries'],
    ['endpoints', 'Endpoints'],
  ])}<p class="lead">${current === 'deliveries' ? 'What was tried and met no good answer, of all merchants.' : 'Receivers whose last attempts failed, and those that Beck switched off.'} Where many merchants stand here at once, look at the outgoing connections of this server. The rest of a URL, bodies and answers are the merchant’s, and only the merchant sends again.</p>`

const merchantCell = (call: PersonCall, row: FailingEndpoint | FailingDelivery): Part => {
  const account = showId('acct', row.accountId)
  return html`<a href="${call.base}/operator/deliveries?filter_account=${account}">${row.accountName}</a>${row.mode === 'test' && html` ${badge('test')}`}`
}

const accountColumn: Column<FailingEndpoint | FailingDelivery> = copyColumn(
  'Account',
  'account',
  'the account id',
  (row) => showId('acct', row.accountId),
)

const ACCOUNT_FILTER: Filter = { name: 'filter_account', label: 'Account id', kind: 'text' }

const DELIVERY_FILTERS: readonly Filter[] = [
  choiceOf('filter_state', 'State', UNDELIVERED_STATES),
  ACCOUNT_FILTER,
  { name: 'filter_endpoint', label: 'Endpoint id', kind: 'text' },
]

const answerOf = ({ responseStatus, error }: FailingDelivery): Part =>
  html`<strong>${responseStatus ?? 'no answer'}</strong>${error && html`<br><span class="hint">${error}</span>`}`

const deliveriesPage = (call: PersonCall): Promise<Sheet> =>
  listPage<FailingDelivery>(call, {
    nav: 'op-deliveries',
    title: 'Webhook deliveries',
    lead: lead(call, 'deliveries'),
    read: (query) => listFailingDeliveries(call.gateway.db, query),
    filters: DELIVERY_FILTERS,
    tabs: [
      ['All', ''],
      ['Tried again', 'filter_state=retrying'],
      ['Given up', 'filter_state=failed'],
    ],
    columns: [
      { label: 'Merchant', cell: (row) => merchantCell(call, row) },
      {
        label: 'Receiver',
        name: 'receiver',
        cell: (row) =>
          html`<a href="${call.base}/operator/deliveries?filter_endpoint=${showId('whk', row.endpointId)}">${row.host}</a>${row.isDeleted && html`<br><span class="hint">deleted since</span>`}`,
      },
      {
        label: 'Event',
        name: 'event',
        isMinor: true,
        cell: (row) => html`<code>${row.eventType}</code>`,
      },
      {
        label: 'State',
        name: 'state',
        cell: (row) =>
          html`<span class="badge ${row.status === 'failed' ? 'bad' : 'wait'}">${row.status === 'failed' ? 'failed' : 'retrying'}</span>${row.nextAttemptAt && html`<br><span class="hint">next ${time(row.nextAttemptAt)}</span>`}`,
      },
      {
        label: 'Last answer',
        name: 'answer',
        cell: (row) =>
          html`${answerOf(row)}<br><span class="hint">after ${plural(row.attempts, 'attempt')}</span>`,
      },
      createdColumn(call),
      copyColumn('Endpoint id', 'endpoint', 'the endpoint’s id', (row) => showId('whk', row.endpointId)),
      copyColumn('Delivery id', 'id', 'the delivery’s id', (row) => showId('dlv', row.id)),
      accountColumn,
    ],
    emptyPart: empty('Everything arrives', 'A delivery that meets no good answer shows here.'),
  })

const ENDPOINT_FILTERS: readonly Filter[] = [
  choiceOf('filter_state', 'State', FAILING_STATES),
  { name: 'filter_name', label: 'Merchant', kind: 'text' },
  choiceOf('filter_mode', 'Side', MODES),
  { name: 'filter_host', label: 'Receiver', kind: 'text' },
  ACCOUNT_FILTER,
]

const endpointsPage = (call: PersonCall): Promise<Sheet> =>
  listPage<FailingEndpoint>(call, {
    nav: 'op-deliveries',
    title: 'Webhook endpoints',
    lead: lead(call, 'endpoints'),
    read: (query) => listFailingEndpoints(call.gateway.db, query),
    filters: ENDPOINT_FILTERS,
    tabs: [
      ['All', ''],
      ['Failing', 'filter_state=failing'],
      ['Switched off', 'filter_state=disabled'],
    ],
    columns: [
      { label: 'Merchant', sort: 'name', cell: (row) => merchantCell(call, row) },
      {
        label: 'Receiver',
        name: 'receiver',
        cell: (row) =>
          html`<a href="${call.base}/operator/deliveries?filter_endpoint=${showId('whk', row.id)}">${row.host}</a>`,
      },
      {
        label: 'State',
        name: 'state',
        cell: (row) =>
          row.disabledReason === null
            ? html`<span class="badge wait">failing</span>`
            : html`<span class="badge bad">disabled</span><br><span class="hint">${DISABLED_WORDS[row.disabledReason]}</span>`,
      },
      {
        label: 'Failing since',
        name: 'since',
        sort: 'created_at',
        cell: (row) => time(row.failingSince) ?? html`<span class="hint">its first bad answer</span>`,
      },
      {
        label: 'Wait',
        name: 'waiting',
        isFigure: true,
        cell: (row) => `${count(row.waiting)}${row.waiting < WAITING_COUNTED_MAX ? '' : ' or more'}`,
      },
      copyColumn('Endpoint id', 'id', 'the endpoint’s id', (row) => showId('whk', row.id), { isMinor: true }),
      accountColumn,
    ],
    emptyPart: empty('No endpoint is in trouble', 'Those that fail, or were switched off for it, show here.'),
  })

export const operatorDeliveryRows: readonly DashboardRow[] = [
  personRow('operator', 'GET /operator/deliveries', { handle: deliveriesPage }),
  personRow('operator', 'GET /operator/endpoints', { handle: endpointsPage }),
]
