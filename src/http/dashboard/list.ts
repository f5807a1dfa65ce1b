/**
 * Lists of the dashboard, all by one mechanism on `db/list.ts`: filters, sort, order and page stand in the URL, which can
 * be kept, sent to a colleague and exported. Dates are days of the merchant's zone, their bounds worked out here.
 */
import { Readable } from 'node:stream'
import { Refusal } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import type { Page } from '../../db/list.ts'
import type { ListQuery } from '../../db/list-filters.ts'
import type { SavedView } from '../../users/saved-views.sql.ts'
import { type Html, html, type Part } from '../hosted/html.ts'
import { type Column, empty, field, hidden, notice, select, sentence, table } from './parts.ts'
import { type PlaceCall, SENT } from './row.ts'
import { count, dayAfter, startOfDay } from './words.ts'

export type Filter =
  | { readonly name: string; readonly label: string; readonly kind: 'text' | 'number' }
  | {
      readonly name: string
      readonly label: string
      readonly kind: 'choice'
      readonly choices: readonly (readonly [string, string])[]
    }

/** What of the URL describes the list: everything but the page and what a redirect left. */
const NOT_FILTERS = ['page', 'done', 'format', 'name', 'held']
const PAGING = ['sort', 'order']

/** The query of `db/list.ts` for what stands in the URL. Names that the list does not know are left to it to refuse. */
export function listQuery(call: PlaceCall, filters: readonly Filter[]): ListQuery {
  const zone = call.place.membership.timeZone
  const query: Record<string, string | number> = {}
  for (const { name, kind } of filters) {
    const given = call.query[name]
    if (given) query[name] = kind === 'number' ? Number(given) : given
  }
  const from = call.query.from && startOfDay(call.query.from, zone)
  const to = call.query.to && startOfDay(dayAfter(call.query.to), zone)
  if (from) query.start_date = from.toISOString()
  if (to) query.end_date = to.toISOString()
  for (const name of PAGING) if (call.query[name]) query[name] = call.query[name] ?? ''
  return query
}

export interface ListPage<Row> {
  readonly page: Page<Row>
  readonly problem: string | null
}

/** A page of a list; a query that cannot be read shows none, and says why. */
export async function readList<Row>(
  call: PlaceCall,
  filters: readonly Filter[],
  read: (query: ListQuery) => Promise<Page<Row>>,
): Promise<ListPage<Row>> {
  const number = Number(call.query.page ?? 1)
  const page = Number.isSafeInteger(number) && number >= 1 ? number : 1
  try {
    return { page: await read({ ...listQuery(call, filters), page }), problem: null }
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind !== 'invalid') throw error
    return {
      page: { items: [], total: 0, page: 1, limit: 25, totalPages: 0 },
      problem: error.message,
    }
  }
}

const urlWith = (call: PlaceCall, changes: Readonly<Record<string, string | null>>): string => {
  const next = new URLSearchParams(
    Object.entries(call.query).filter(([name]) => name !== 'done' && !(name in changes)),
  )
  for (const [name, value] of Object.entries(changes)) if (value) next.set(name, value)
  const text = next.toString()
  return pathOf(call) + (text ? `?${text}` : '')
}

const pathOf = (call: PlaceCall): string => call.request.url.split('?')[0] ?? ''

const filterQuery = (call: PlaceCall): string =>
  new URLSearchParams(
    Object.entries(call.query).filter(([name, value]) => value && !NOT_FILTERS.includes(name)),
  ).toString()

export interface ListView<Row> {
  readonly title: string
  readonly columns: readonly Column<Row>[]
  readonly filters: readonly Filter[]
  readonly list: ListPage<Row>
  readonly emptyPart: Html
  readonly views?: readonly SavedView[]
  /** Ready-made views that everybody has: a label and its query. */
  readonly tabs?: readonly (readonly [string, string])[]
  readonly hasDates?: boolean
  readonly exports?: boolean
  readonly actions?: Part
}

/** The whole of a list page: heading, views, filters, rows, pages. */
export function drawList<Row>(call: PlaceCall, view: ListView<Row>): Html {
  const { list, filters } = view
  const current = filterQuery(call)
  const isFiltered = current !== ''
  return html`<header class="head"><h1>${view.title}</h1><div class="actions">${view.actions}</div></header>
${(view.tabs || view.views) && viewTabs(call, view, current)}
${(filters.length > 0 || view.hasDates) && filterForm(call, view)}
${list.problem && notice('bad', html`<p>${sentence(list.problem)}</p>`)}
${
  list.page.items.length > 0
    ? html`${table(view.title, view.columns, list.page.items, (column) => sortLink(call, column))}${pager(call, view)}`
    : isFiltered || list.page.page > 1
      ? empty(
          'Nothing matches',
          'No entry is like that. Loosen or clear the filters.',
          html`<a class="button" href="${pathOf(call)}">Clear</a>`,
        )
      : view.emptyPart
}`
}

function viewTabs<Row>(call: PlaceCall, { tabs = [], views }: ListView<Row>, current: string): Html {
  const link = (label: string, query: string, isCurrent: boolean) =>
    html`<a href="${pathOf(call)}${query && `?${query}`}"${isCurrent && html` aria-current="true"`}>${label}</a>`
  const here = views?.find(({ query }) => query === current)
  return html`<nav class="views" aria-label="Views">${tabs.map(([label, query]) => link(label, query, query === current))}${views?.map(({ name, query }) => link(name, query, query === current))}${here && html`<form method="post" action="${call.here}/views/${showId('view', here.id)}/delete" class="inline">${hidden('page', here.page)}<button type="submit" class="link">Remove this view</button></form>`}</nav>`
}

function filterForm<Row>(call: PlaceCall, { filters, hasDates, views }: ListView<Row>): Html {
  const own = { form: { get: () => '', all: () => [], has: () => false, entries: [] }, problem: null }
  const one = (filter: Filter) =>
    filter.kind === 'choice'
      ? select(own, {
          ...filter,
          choices: [['', 'Any'], ...filter.choices],
          value: call.query[filter.name] ?? '',
        })
      : field(own, {
          name: filter.name,
          label: filter.label,
          value: call.query[filter.name] ?? '',
          ...(filter.kind === 'number' ? { inputmode: 'decimal' as const } : {}),
        })
  const isOpen = filterQuery(call) !== ''
  const current = filterQuery(call)
  return html`<details class="card"${isOpen && html` open`}><summary>Filter</summary><form method="get" action="${pathOf(call)}" class="filters">${filters.map(one)}${hasDates && html`${field(own, { name: 'from', label: 'From', type: 'date', value: call.query.from ?? '' })}${field(own, { name: 'to', label: 'To, that day included', type: 'date', value: call.query.to ?? '' })}`}${PAGING.map((name) => call.query[name] && hidden(name, call.query[name] ?? ''))}<div class="actions"><button type="submit" class="primary">Apply</button><a class="button" href="${pathOf(call)}">Clear</a></div></form>${
    views &&
    current !== '' &&
    !views.some(({ query }) => query === current) &&
    html`<form method="post" action="${call.here}/views" class="row">${hidden('page', pathOf(call).slice(call.here.length + 1))}${hidden('query', current)}<div class="field"><label for="view-name">Keep these filters as</label><input id="view-name" name="name" required maxlength="60"></div><button type="submit">Save view</button></form>`
  }</details>`
}

function sortLink<Row>(call: PlaceCall, column: Column<Row>): Part {
  if (!column.sort) return column.label
  const isCurrent = (call.query.sort ?? 'created_at') === column.sort
  const isDown = (call.query.order ?? 'desc') === 'desc'
  const order = isCurrent && isDown ? 'asc' : 'desc'
  return html`<a href="${urlWith(call, { sort: column.sort, order, page: null })}"${isCurrent && html` aria-current="true"`}>${column.label}${isCurrent && html` <span aria-hidden="true">${isDown ? '↓' : '↑'}</span><span class="hidden">, ${isDown ? 'largest or newest first' : 'smallest or oldest first'}</span>`}</a>`
}

function pager<Row>(call: PlaceCall, { list: { page }, exports }: ListView<Row>): Html {
  const first = (page.page - 1) * page.limit + 1
  const query = filterQuery(call)
  const exportTo = (format: string) => `${pathOf(call)}/export?format=${format}${query && `&${query}`}`
  return html`<div class="pager"><span>${count(first)}–${count(first + page.items.length - 1)} of ${count(page.total)}${page.isBounded && ' or more'}</span>${exports && call.may('exports:read') && html`<span>Export all ${count(page.total)}: <a href="${exportTo('csv')}" download>CSV</a>, <a href="${exportTo('jsonl')}" download>JSON Lines</a></span>`}<nav aria-label="Pages">${page.page > 1 && html`<a class="button" rel="prev" href="${urlWith(call, { page: page.page > 2 ? String(page.page - 1) : null })}">Previous</a>`}${page.page < page.totalPages && html`<a class="button" rel="next" href="${urlWith(call, { page: String(page.page + 1) })}">Next</a>`}</nav></div>`
}

/** A row of an export: a column's name and what it holds. */
export type ExportRow = Readonly<Record<string, string | number | null>>

/**
 * Sends everything that matches, as it is read: a batch of rows is in memory at a time, whoever many there are.
 *
 * @param name - Of the file, without its ending.
 */
export async function sendExport(
  call: PlaceCall,
  name: string,
  batches: AsyncIterable<readonly ExportRow[]>,
): Promise<typeof SENT> {
  const isCsv = call.query.format !== 'jsonl'
  const write = isCsv
    ? await csvWriter()
    : (rows: readonly ExportRow[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  async function* texts() {
    let isFirst = true
    for await (const rows of batches) {
      yield write(rows, isFirst)
      isFirst = false
    }
  }
  call.reply
    .type(isCsv ? 'text/csv; charset=utf-8' : 'application/jsonl; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name}.${isCsv ? 'csv' : 'jsonl'}"`)
    .send(Readable.from(texts()))
  return SENT
}

/** Cells that a spreadsheet would take for formulas are marked as text. */
async function csvWriter() {
  const { stringify } = await import('csv-stringify/sync')
  return (rows: readonly ExportRow[], isFirst: boolean) =>
    stringify([...rows], { header: isFirst, escape_formulas: true, record_delimiter: 'windows' })
}
