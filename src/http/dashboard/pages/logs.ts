/** What was told and what was done: events, and the audit log. */
import type { RecordedAct } from '../../../audit/act.ts'
import { listActs } from '../../../audit/audit-log.sql.ts'
import { showId } from '../../../core/ids.ts'
import { EVENT_TYPES } from '../../../events/event.ts'
import { exportEvents, type ListedEvent, listEvents } from '../../../events/list-events.sql.ts'
import { html, type Part } from '../../hosted/html.ts'
import { type ExportColumns, exportForm, exportRow } from '../export.ts'
import { drawList, readList } from '../list.ts'
import type { Filter } from '../list-query.ts'
import { empty, table } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { time } from '../words.ts'

const EVENT_FILTERS: readonly Filter[] = [
  { name: 'filter_type', label: 'Type', kind: 'choice', choices: EVENT_TYPES.map((each) => [each, each]) },
  { name: 'filter_id', label: 'Event id', kind: 'text' },
]

const EXPORTED_EVENTS: ExportColumns<ListedEvent> = {
  id: (row) => showId('evt', row.id),
  type: (row) => row.type,
  created_at: (row) => row.createdAt,
  body: (row) => row.body,
}

async function eventsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place } = call
  const list = await readList(
    call,
    EVENT_FILTERS,
    (query) => listEvents(gateway.db, place.account.id, query),
    'events',
  )
  return {
    title: 'Events',
    nav: 'events',
    content: drawList(call, {
      title: 'Events',
      list,
      filters: EVENT_FILTERS,
      hasDates: true,
      exports: Object.keys(EXPORTED_EVENTS),
      columns: [
        {
          label: 'Event',
          cell: (row) =>
            html`<details><summary><code>${row.type}</code></summary><pre tabindex="0"><code>${pretty(row.body)}</code></pre></details>`,
        },
        { label: 'Id', isMinor: true, cell: (row) => html`<code>${showId('evt', row.id)}</code>` },
        {
          label: 'Announced',
          sort: 'created_at',
          cell: (row) => time(row.createdAt, place.membership.timeZone),
        },
      ],
      emptyPart: empty('No event yet', 'Each step of a payment is announced here, and to your webhooks.'),
    }),
  }
}

const pretty = (body: string): string => JSON.stringify(JSON.parse(body), null, 2)

const ACTS_PER_PAGE = 50

async function auditPage(call: PlaceCall): Promise<Sheet> {
  const before = /^[0-9a-f-]{36}$/.test(call.query.before ?? '') ? call.query.before : undefined
  const acts = await listActs(call.gateway.db, {
    accountId: call.place.account.id,
    limit: ACTS_PER_PAGE + 1,
    ...(before ? { before } : {}),
  })
  const shown = acts.slice(0, ACTS_PER_PAGE)
  const last = shown.at(-1)
  return {
    title: 'Audit log',
    nav: 'audit',
    content: html`<header class="head"><h1>Audit log</h1></header><p class="lead">Every change by a person, a key or the command line. Entries are only ever added, and chained, so that none can be changed unseen.</p>${
      shown.length > 0
        ? table<RecordedAct>(
            'Audit log',
            [
              { label: 'When', cell: (act) => time(act.at, call.place.membership.timeZone) },
              {
                label: 'Who',
                cell: (act) =>
                  html`${act.actor.name ?? act.actor.id ?? act.actor.kind}<br><span class="hint">${act.actor.kind}${act.address && `, ${act.address}`}</span>`,
              },
              { label: 'What', cell: (act) => html`<code>${act.action}</code>${details(act)}` },
              { label: 'On', isMinor: true, cell: (act) => act.subject && html`<code>${act.subject}</code>` },
            ],
            shown,
          )
        : empty('Nothing yet', 'The first change by anybody shows here.')
    }<div class="pager"><span></span><nav aria-label="Pages">${acts.length > ACTS_PER_PAGE && last && html`<a class="button" rel="next" href="${call.here}/audit?before=${last.id}">Older</a>`}</nav></div>${call.may('exports:read') && exportForm(call, { path: `${call.here}/audit/export`, query: '', columns: Object.keys(EXPORTED_ACTS) })}`,
  }
}

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

const ACTS_PER_BATCH = 1_000

async function* exportedActs({ gateway, place }: PlaceCall): AsyncGenerator<readonly RecordedAct[]> {
  let before: string | undefined
  for (;;) {
    const acts = await listActs(gateway.db, {
      accountId: place.account.id,
      limit: ACTS_PER_BATCH,
      ...(before ? { before } : {}),
    })
    yield acts
    before = acts.at(-1)?.id
    if (acts.length < ACTS_PER_BATCH) return
  }
}

export const logRows: readonly DashboardRow[] = [
  placeRow('webhooks:read', { method: 'GET', path: '/:account/events', handle: eventsPage }),
  exportRow('events', 'webhooks:read', {
    columns: EXPORTED_EVENTS,
    filters: EVENT_FILTERS,
    read: ({ gateway, place }, query) => exportEvents(gateway.db, place.account.id, query),
  }),
  placeRow('audit:read', { method: 'GET', path: '/:account/audit', handle: auditPage }),
  exportRow('audit', 'audit:read', { columns: EXPORTED_ACTS, filters: [], read: exportedActs }),
]
