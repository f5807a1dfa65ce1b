/** What this account's keys asked of the API in the last seven days. */
import { listApiKeys } from '../../../accounts/api-keys.sql.ts'
import {
  type LoggedRequest,
  listRequests,
  REQUEST_LOG_DAYS,
  REQUEST_OUTCOMES,
} from '../../../accounts/request-log.sql.ts'
import { showId } from '../../../core/ids.ts'
import { html } from '../../hosted/html.ts'
import { drawList, type Filter, readList } from '../list.ts'
import { copyable, empty } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { count, time } from '../words.ts'

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const

const tone = (status: number): string => (status >= 500 ? 'bad' : status >= 400 ? 'wait' : 'good')

async function requestsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const keys = await listApiKeys(gateway.db, place.account.id)
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  const filters: readonly Filter[] = [
    {
      name: 'filter_outcome',
      label: 'Outcome',
      kind: 'choice',
      choices: REQUEST_OUTCOMES.map((each) => [each, each]),
    },
    { name: 'filter_method', label: 'Method', kind: 'choice', choices: METHODS.map((each) => [each, each]) },
    { name: 'filter_path', label: 'Path contains', kind: 'text' },
    { name: 'filter_request', label: 'Request id', kind: 'text' },
    {
      name: 'filter_key',
      label: 'Key',
      kind: 'choice',
      choices: keys.map(({ id, name }) => [showId('key', id), name]),
    },
  ]
  const list = await readList(call, filters, (query) => listRequests(gateway.db, place.account.id, query))
  return {
    title: 'Requests',
    nav: 'requests',
    content: drawList<LoggedRequest>(call, {
      title: 'Requests',
      list,
      filters,
      hasDates: true,
      tabs: [
        ['All', ''],
        ['Refused', 'filter_outcome=refused'],
        ['Failed', 'filter_outcome=failed'],
      ],
      columns: [
        { label: 'When', cell: (row) => time(row.at, place.membership.timeZone) },
        {
          label: 'Request',
          cell: (row) => html`<code class="path">${row.method} ${row.path}</code>`,
        },
        {
          label: 'Answer',
          cell: (row) =>
            html`<span class="badge ${tone(row.status)}">${row.status}</span>${row.reason && html` <span class="hint">${row.reason}</span>`}`,
        },
        { label: 'Took', isFigure: true, isMinor: true, cell: (row) => `${count(row.durationMs)} ms` },
        {
          label: 'Key',
          isMinor: true,
          cell: (row) =>
            html`${names.get(row.keyId) ?? showId('key', row.keyId)}<br><span class="hint">${row.address}</span>`,
        },
        { label: 'Request id', isMinor: true, cell: (row) => copyable(row.requestId, 'Copy the request id') },
      ],
      emptyPart: empty(
        'No request yet',
        `Each call of your keys shows here for ${REQUEST_LOG_DAYS} days: path, answer and time, never a body.`,
        html`<a class="button" href="${here}/quickstart">Send the first one</a>`,
      ),
    }),
  }
}

export const requestRows: readonly DashboardRow[] = [
  placeRow('logs:read', { method: 'GET', path: '/:account/requests', handle: requestsPage }),
]
