/** What was told and what was done: events, and the audit log. */
import { ACTOR_KINDS, type RecordedAct } from '../../../audit/act.ts'
import { exportActs, listActsOf } from '../../../audit/list-acts.sql.ts'
import { showId } from '../../../core/ids.ts'
import type { ListQuery } from '../../../db/list-filters.ts'
import { EVENT_TYPES, type EventType, readableTypes } from '../../../events/event.ts'
import { exportEvents, type ListedEvent, listEvents } from '../../../events/list-events.sql.ts'
import { html, type Part } from '../../hosted/html.ts'
import { type ExportColumns, exportRow } from '../export.ts'
import { listPage } from '../list.ts'
import { copyColumn, createdColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import { empty } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, time } from '../words.ts'

const eventFilters = (types: readonly EventType[]): readonly Filter[] => [
  choiceOf('filter_type', 'Type', types),
  { name: 'filter_id', label: 'Event id', kind: 'text' },
]

const typesFor = (may: PlaceCall['may']): readonly EventType[] => readableTypes(may('withdrawals:read'))

/** What is asked for, of what may be read. */
const readable = (query: ListQuery, may: PlaceCall['may']): ListQuery =>
  may('withdrawals:read') ? query : { ...query, readable: typesFor(may).join() }

const EXPORTED_EVENTS: ExportColumns<ListedEvent> = {
  id: (row) => showId('evt', row.id),
  type: (row) => row.type,
  created_at: (row) => row.createdAt,
  body: (row) => row.body,
}

const eventsPage = (call: PlaceCall): Promise<Sheet> =>
  listPage<ListedEvent>(call, {
    nav: 'events',
    title: 'Events',
    read: (query) => listEvents(call.gateway.db, call.place.account.id, readable(query, call.may)),
    filters: eventFilters(typesFor(call.may)),
    exports: Object.keys(EXPORTED_EVENTS),
    columns: [
      {
        label: 'Event',
        cell: (row) =>
          html`<details><summary><code>${row.type}</code>${row.isSample && html` ${badge('test')}`}</summary><pre tabindex="0"><code>${pretty(row.body)}</code></pre></details>`,
      },
      copyColumn('Id', 'id', 'the id', (row) => showId('evt', row.id), { isMinor: true }),
      createdColumn(call, 'Announced'),
    ],
    emptyPart: empty('No event yet', 'Each step of a payment is announced here, and to your webhooks.'),
  })

const pretty = (body: string): string => JSON.stringify(JSON.parse(body), null, 2)

const ACT_FILTERS: readonly Filter[] = [
  choiceOf('filter_kind', 'Who', ACTOR_KINDS),
  { name: 'filter_action', label: 'What, such as key.create', kind: 'text' },
  { name: 'filter_subject', label: 'On, the whole id', kind: 'text' },
]

const auditPage = (call: PlaceCall): Promise<Sheet> =>
  listPage<RecordedAct>(call, {
    nav: 'audit',
    title: 'Audit log',
    read: (query) => listActsOf(call.gateway.db, call.place.account.id, query),
    lead: html`<p class="lead">Every change by a person, a key or the command line. Entries are only ever added, and chained, so that none can be changed unseen.</p>`,
    filters: ACT_FILTERS,
    exports: Object.keys(EXPORTED_ACTS),
    columns: [
      { label: 'When', sort: 'created_at', cell: (act) => time(act.at, call.place.membership.timeZone) },
      {
        label: 'Who',
        name: 'who',
        cell: (act) =>
          html`${act.actor.name ?? act.actor.id ?? act.actor.kind}<br><span class="hint">${act.actor.kind}${act.address && `, ${act.address}`}</span>`,
      },
      {
        label: 'What',
        name: 'what',
        cell: (act) => html`<code>${act.action}</code>${details(act)}`,
      },
      copyColumn('On', 'on', 'what it was done to', (act) => act.subject, { isMinor: true }),
    ],
    emptyPart: empty('Nothing yet', 'The first change by anybody shows here.'),
  })

const details = ({ before, after }: RecordedAct): Part =>
  (before || after) &&
  html`<details><summary class="hint">before and after</summary><pre tabindex="0"><code>${before && `- ${JSON.stringify(before)}\n`}${after && `+ ${JSON.stringify(after)}`}</code></pre></details>`

const EXPORTED_ACTS: ExportColumns<RecordedAct> = {
  at: (act) => act.at,
  place: (act) => (act.place === null ? null : String(act.place)),
  actor_kind: (act) => act.actor.kind,
  actor_id: (act) => act.actor.id,
  actor_name: (act) => act.actor.name,
  address: (act) => act.address,
  action: (act) => act.action,
  subject: (act) => act.subject,
  before: (act) => act.before && JSON.stringify(act.before),
  after: (act) => act.after && JSON.stringify(act.after),
}

export const logRows: readonly DashboardRow[] = [
  placeRow('webhooks:read', 'GET /:account/events', { handle: eventsPage }),
  exportRow('events', 'webhooks:read', {
    columns: EXPORTED_EVENTS,
    filters: eventFilters(EVENT_TYPES),
    read: (db, accountId, query, may) => exportEvents(db, accountId, readable(query, may)),
  }),
  placeRow('audit:read', 'GET /:account/audit', { handle: auditPage }),
  exportRow('audit', 'audit:read', { columns: EXPORTED_ACTS, filters: ACT_FILTERS, read: exportActs }),
]
