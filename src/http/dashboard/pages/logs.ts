/** What was told and what was done: events, and the audit log. */
import type { RecordedAct } from '../../../audit/act.ts'
import { listActs } from '../../../audit/audit-log.sql.ts'
import { showId } from '../../../core/ids.ts'
import { EVENT_TYPES } from '../../../events/event.ts'
import { listEvents } from '../../../events/list-events.sql.ts'
import { html, type Part } from '../../hosted/html.ts'
import { drawList, type ExportRow, type Filter, readList, sendExport } from '../list.ts'
import { empty, table } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { dayOf, time } from '../words.ts'

const EVENT_FILTERS: readonly Filter[] = [
  { name: 'filter_type', label: 'Type', kind: 'choice', choices: EVENT_TYPES.map((each) => [each, each]) },
  { name: 'filter_id', label: 'Event id', kind: 'text' },
]

async function eventsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place } = call
  const list = await readList(call, EVENT_FILTERS, (query) => listEvents(gateway.db, place.account.id, query))
  return {
    title: 'Events',
    nav: 'events',
    content: drawList(call, {
      title: 'Events',
      list,
      filters: EVENT_FILTERS,
      hasDates: true,
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
    content: html`<header class="head"><h1>Audit log</h1>${call.may('exports:read') && html`<div class="actions"><a class="button" href="${call.here}/audit/export?format=csv" download>CSV</a><a class="button" href="${call.here}/audit/export?format=jsonl" download>JSON Lines</a></div>`}</header><p class="lead">Every change by a person, a key or the command line. Entries are only ever added, and chained, so that none can be changed unseen.</p>${
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
    }<div class="pager"><span></span><nav aria-label="Pages">${acts.length > ACTS_PER_PAGE && last && html`<a class="button" rel="next" href="${call.here}/audit?before=${last.id}">Older</a>`}</nav></div>`,
  }
}

const details = ({ before, after }: RecordedAct): Part =>
  (before || after) &&
  html`<details><summary class="hint">before and after</summary><pre tabindex="0"><code>${before && `- ${JSON.stringify(before)}\n`}${after && `+ ${JSON.stringify(after)}`}</code></pre></details>`

async function* exportedActs(call: PlaceCall): AsyncGenerator<readonly ExportRow[]> {
  let before: string | undefined
  for (;;) {
    const acts = await listActs(call.gateway.db, {
      accountId: call.place.account.id,
      limit: 1_000,
      ...(before ? { before } : {}),
    })
    yield acts.map((act) => ({
      at: act.at.toISOString(),
      place: act.place === null ? null : String(act.place),
      actor_kind: act.actor.kind,
      actor_id: act.actor.id,
      actor_name: act.actor.name,
      address: act.address,
      action: act.action,
      subject: act.subject,
      before: act.before && JSON.stringify(act.before),
      after: act.after && JSON.stringify(act.after),
    }))
    before = acts.at(-1)?.id
    if (acts.length < 1_000) return
  }
}

export const logRows: readonly DashboardRow[] = [
  placeRow('webhooks:read', { method: 'GET', path: '/:account/events', handle: eventsPage }),
  placeRow('audit:read', { method: 'GET', path: '/:account/audit', handle: auditPage }),
  placeRow('audit:read', {
    method: 'GET',
    path: '/:account/audit/export',
    alsoNeeds: 'exports:read',
    handle: (call) =>
      sendExport(call, `audit-log-${dayOf(new Date(), call.place.membership.timeZone)}`, exportedActs(call)),
  }),
]
