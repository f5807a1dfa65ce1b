/** What this account's keys asked of the API in the last seven days. */
import { type ApiKey, listApiKeys } from '../../../accounts/api-keys.sql.ts'
import {
  exportRequests,
  type LoggedRequest,
  listRequests,
  REQUEST_LOG_DAYS,
  REQUEST_OUTCOMES,
} from '../../../accounts/request-log.sql.ts'
import { showId } from '../../../core/ids.ts'
import { html } from '../../hosted/html.ts'
import { type ExportColumns, exportRow } from '../export.ts'
import { listPage } from '../list.ts'
import { copyColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import { type Column, empty } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { count, time } from '../words.ts'

const tone = (status: number): string => (status >= 500 ? 'bad' : status >= 400 ? 'wait' : 'good')

const FILTERS: readonly Filter[] = [
  choiceOf('filter_outcome', 'Outcome', REQUEST_OUTCOMES),
  choiceOf('filter_method', 'Method', ['GET', 'POST', 'PATCH', 'DELETE']),
  { name: 'filter_path', label: 'Path contains', kind: 'text' },
  { name: 'filter_request', label: 'Request id', kind: 'text' },
]

/** Instants, as links from elsewhere give them; on the page days are chosen. */
const ALL_FILTERS: readonly Filter[] = [
  ...FILTERS,
  { name: 'start_date', label: 'On or after', kind: 'text' },
  { name: 'end_date', label: 'Before', kind: 'text' },
  { name: 'filter_key', label: 'Key', kind: 'text' },
]

const EXPORTED: ExportColumns<LoggedRequest> = {
  at: (row) => row.at,
  method: (row) => row.method,
  path: (row) => row.path,
  status: (row) => row.status,
  reason: (row) => row.reason,
  duration_ms: (row) => row.durationMs,
  key: (row) => showId('key', row.keyId),
  address: (row) => row.address,
  request_id: (row) => row.requestId,
}

function columnsOf({ place }: PlaceCall, keys: readonly ApiKey[]): readonly Column<LoggedRequest>[] {
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  return [
    { label: 'When', name: 'when', cell: (row) => time(row.at, place.membership.timeZone) },
    {
      label: 'Request',
      cell: (row) => html`<code class="path">${row.method} ${row.path}</code>`,
    },
    {
      label: 'Answer',
      name: 'answer',
      cell: (row) =>
        html`<span class="badge ${tone(row.status)}">${row.status}</span>${row.reason && html` <span class="hint">${row.reason}</span>`}`,
    },
    {
      label: 'Took',
      name: 'took',
      isFigure: true,
      isMinor: true,
      cell: (row) => `${count(row.durationMs)} ms`,
    },
    {
      label: 'Key',
      name: 'key',
      isMinor: true,
      cell: (row) =>
        html`${names.get(row.keyId) ?? showId('key', row.keyId)}<br><span class="hint">${row.address}</span>`,
    },
    copyColumn('Request id', 'request_id', 'the request id', (row) => row.requestId, { isMinor: true }),
  ]
}

async function requestsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const keys = await listApiKeys(gateway.db, place.account.id)
  const filters: readonly Filter[] = [
    ...FILTERS,
    {
      name: 'filter_key',
      label: 'Key',
      kind: 'choice',
      choices: keys.map(({ id, name }) => [showId('key', id), name]),
    },
  ]
  return listPage<LoggedRequest>(call, {
    nav: 'requests',
    title: 'Requests',
    read: (query) => listRequests(gateway.db, place.account.id, query),
    asked: ALL_FILTERS,
    filters,
    exports: Object.keys(EXPORTED),
    tabs: [
      ['All', ''],
      ['Refused', 'filter_outcome=refused'],
      ['Failed', 'filter_outcome=failed'],
    ],
    columns: columnsOf(call, keys),
    emptyPart: empty(
      'No request yet',
      `Each call of your keys shows here for ${REQUEST_LOG_DAYS} days: path, answer and time, never a body.`,
      html`<a class="button" href="${here}/quickstart">Send the first one</a>`,
    ),
  })
}

export const requestRows: readonly DashboardRow[] = [
  placeRow('logs:read', 'GET /:account/requests', { handle: requestsPage }),
  exportRow('requests', 'logs:read', { columns: EXPORTED, filters: ALL_FILTERS, read: exportRequests }),
]
