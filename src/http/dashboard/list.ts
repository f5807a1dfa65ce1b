/**
 * Lists of the dashboard, all by one mechanism on `db/list.ts`: filters, sort, order, columns and page stand in the URL, which can
 * be kept, sent to a colleague and exported. Dates are days of the merchant's zone; on the operator's pages, of UTC.
 */
import { Refusal } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import type { Page } from '../../db/list.ts'
import type { ListQuery } from '../../db/list-filters.ts'
import { listSavedViews, type SavedView, VIEWED_PAGES } from '../../users/saved-views.sql.ts'
import { type Html, html, type Part } from '../hosted/html.ts'
import { exportForm } from './export.ts'
import { EMPTY_FORM } from './form.ts'
import { columnForm, shownColumns } from './list-columns.ts'
import { BOUNDS, COLUMNS, type Filter, filterQuery, listQuery, PAGING, problemOf } from './list-query.ts'
import { type Column, empty, field, hidden, notice, select, sentence, table } from './parts.ts'
import type { ListCall, Sheet } from './row.ts'
import { count } from './words.ts'

export interface ListPage<Row> {
  readonly page: Page<Row>
  readonly problem: string | null
  /** Of the person who asks; null where none can be kept. */
  readonly views: readonly SavedView[] | null
}

/** A page of a list; a query that cannot be read shows none, and says why. */
export async function readList<Row>(
  call: ListCall,
  filters: readonly Filter[],
  read: (query: ListQuery) => Promise<Page<Row>>,
): Promise<ListPage<Row>> {
  const { gateway, session, place } = call
  const number = Number(call.query.page ?? 1)
  const page = Number.isSafeInteger(number) && number >= 1 ? number : 1
  const asked = async () => read({ ...listQuery(call, filters), page })
  const viewed = VIEWED_PAGES.find((each) => each === nameOf(call))
  const [rows, views] = await Promise.all([
    asked().then(
      (found) => ({ page: found, problem: null }),
      (error: unknown) => {
        if (!(error instanceof Refusal) || error.kind !== 'invalid') throw error
        return {
          page: { items: [], total: 0, page: 1, limit: 25, totalPages: 0 },
          problem: problemOf(error, filters),
        }
      },
    ),
    viewed && place ? listSavedViews(gateway.db, session.userId, place.account.id, viewed) : null,
  ])
  return { ...rows, views }
}

const urlWith = (call: ListCall, changes: Readonly<Record<string, string | null>>): string => {
  const next = new URLSearchParams(
    Object.entries(call.query).filter(([name]) => name !== 'done' && !(name in changes)),
  )
  for (const [name, value] of Object.entries(changes)) if (value) next.set(name, value)
  const text = next.toString()
  return pathOf(call) + (text ? `?${text}` : '')
}

const pathOf = (call: ListCall): string => call.request.url.split('?')[0] ?? ''

export interface ListView<Row> {
  readonly title: string
  /** What it is of, below the heading. */
  readonly lead?: Part
  /** Under the heading of a page that has more than the list. */
  readonly isPart?: boolean
  readonly columns: readonly Column<Row>[]
  readonly filters: readonly Filter[]
  readonly list: ListPage<Row>
  readonly emptyPart: Html
  /** Ready-made views that everybody has: a label and its query. */
  readonly tabs?: readonly (readonly [string, string])[]
  /** Where rows are not found by their days. */
  readonly hasNoDates?: true
  /** Columns that a file of it can have. */
  readonly exports?: readonly string[]
  readonly actions?: Part
}

interface ListSheet<Row> extends Omit<ListView<Row>, 'list'>, Pick<Sheet, 'trail'> {
  readonly nav: string
  /** Of the page, where it is about more than the list. */
  readonly pageTitle?: string
  read(query: ListQuery): Promise<Page<Row>>
  /** All filters that the URL may have; those that the page shows when left out. */
  readonly asked?: readonly Filter[]
  /** The page looks again while it has such a row. */
  isUnderWay?(row: Row): boolean
  /** What stands under the list. */
  readonly below?: Part
}

/** A page that is a list, read and drawn. */
export async function listPage<Row>(call: ListCall, view: ListSheet<Row>): Promise<Sheet> {
  const { title, pageTitle = title, nav, trail, filters, asked = filters } = view
  const list = await readList(call, asked, view.read)
  return {
    title: pageTitle,
    nav,
    ...(trail && { trail }),
    isLive: list.page.items.some((row) => view.isUnderWay?.(row)),
    content: html`${drawList(call, { ...view, list })}${view.below}`,
  }
}

/** The whole of a list: heading, views, filters, rows, pages. */
export function drawList<Row>(call: ListCall, view: ListView<Row>): Html {
  const { list, filters } = view
  const isFiltered = filterQuery(call, [...PAGING, COLUMNS]) !== ''
  const hasFilters = filters.length > 0 || !view.hasNoDates
  const heading = view.isPart ? html`<h2>${view.title}</h2>` : html`<h1>${view.title}</h1>`
  return html`<header class="head">${heading}<div class="actions">${view.actions}</div></header>${view.lead}
${(view.tabs || list.views) && viewTabs(call, view)}
<div class="tools">${hasFilters && filterForm(call, view)}${list.page.items.length > 0 && columnForm(call, view.columns)}${keepForm(call, view)}</div>
${list.problem && notice('bad', html`<p>${sentence(list.problem)}</p>`)}
${
  list.page.items.length > 0
    ? html`${table(view.title, shownColumns(call, view.columns), list.page.items, (column) => sortLink(call, column))}${pager(call, view)}`
    : list.page.page > 1
      ? empty(
          'This page has nothing any more',
          'What it had is on an earlier one, or gone.',
          html`<a class="button" href="${urlWith(call, { page: null })}">The first page</a>`,
        )
      : isFiltered
        ? empty(
            'Nothing matches',
            'No entry is like that. Loosen or clear the filters.',
            html`<a class="button" href="${pathOf(call)}">Clear</a>`,
          )
        : view.emptyPart
}`
}

function viewTabs<Row>(call: ListCall, { tabs = ALL_TAB, list: { views } }: ListView<Row>): Html | false {
  const current = filterQuery(call)
  const columns = call.query[COLUMNS] && new URLSearchParams({ [COLUMNS]: call.query[COLUMNS] })
  if (tabs === ALL_TAB && views?.length === 0) return false
  const link = (label: string, query: string, isCurrent: boolean) =>
    html`<a href="${pathOf(call)}${query && `?${query}`}"${isCurrent && html` aria-current="true"`}>${label}</a>`
  const here = views?.find(({ query }) => query === current)
  return html`<nav class="views" aria-label="Views">${tabs.map(([label, query]) => link(label, [query, columns].filter(Boolean).join('&'), !here && query === filterQuery(call, [COLUMNS])))}${views?.map(({ name, query }) => link(name, query, query === current))}${here && html`<form method="post" action="${viewsOf(call)}/${showId('view', here.id)}/delete" class="inline">${hidden('page', here.page)}<button type="submit" class="link">Remove this view</button></form>`}</nav>`
}

const viewsOf = (call: ListCall): string => (call.place ? `${call.here}/views` : '')

/** A list by its path below the merchant's, as views are kept of it. */
const nameOf = (call: ListCall): string => (call.place ? pathOf(call).slice(call.here.length + 1) : '')

const ALL_TAB: NonNullable<ListView<never>['tabs']> = [['All', '']]

function filterForm<Row>(call: ListCall, { filters, hasNoDates }: ListView<Row>): Html {
  const own = { form: EMPTY_FORM, problem: null }
  const one = (filter: Filter) =>
    filter.kind === 'choice'
      ? select(own, {
          ...filter,
          choices: [['', filter.any ?? 'Any'], ...filter.choices],
          value: call.query[filter.name] ?? '',
        })
      : field(own, {
          name: filter.name,
          label: filter.label,
          value: call.query[filter.name] ?? '',
          ...(filter.kind === 'number' ? { inputmode: 'decimal' as const } : {}),
        })
  const isOpen = filterQuery(call, [...PAGING, COLUMNS]) !== ''
  const zone = call.place ? '' : ' (UTC)'
  return html`<details class="card"${isOpen && html` open`}><summary>Filter</summary><form method="get" action="${pathOf(call)}" class="filters">${filters.map(one)}${!hasNoDates && BOUNDS.map(({ name, label }) => field(own, { name, label: label + zone, type: 'date', value: call.query[name] ?? '' }))}${[...PAGING, COLUMNS].map((name) => call.query[name] && hidden(name, call.query[name] ?? ''))}<div class="actions"><button type="submit" class="primary">Apply</button><a class="button" href="${pathOf(call)}">Clear</a></div></form></details>`
}

/** For what is asked now, its order and its columns too, unless it is kept already. */
function keepForm<Row>(call: ListCall, { list: { views } }: ListView<Row>): Html | false {
  const current = filterQuery(call)
  if (!views || current === '' || views.some(({ query }) => query === current)) return false
  return html`<details class="card"><summary>Keep this view</summary><form method="post" action="${viewsOf(call)}" class="row">${hidden('page', nameOf(call))}${hidden('query', current)}<div class="field"><label for="view-name">Keep this view as</label><input id="view-name" name="name" required maxlength="60"></div><button type="submit">Save view</button></form></details>`
}

function sortLink<Row>(call: ListCall, column: Column<Row>): Part {
  if (!column.sort) return column.label
  const isCurrent = (call.query.sort ?? 'created_at') === column.sort
  const isDown = (call.query.order ?? 'desc') === 'desc'
  const order = isCurrent && isDown ? 'asc' : 'desc'
  return html`<a href="${urlWith(call, { sort: column.sort, order, page: null })}"${isCurrent && html` aria-current="true"`}>${column.label}${isCurrent && html` <span aria-hidden="true">${isDown ? '↓' : '↑'}</span><span class="hidden">, ${isDown ? 'largest or newest first' : 'smallest or oldest first'}</span>`}</a>`
}

function pager<Row>(call: ListCall, { list: { page }, exports }: ListView<Row>): Html {
  const first = (page.page - 1) * page.limit + 1
  return html`<div class="pager"><span>${count(first)}–${count(first + page.items.length - 1)} of ${count(page.total)}${page.isBounded && ' or more'}</span><nav aria-label="Pages">${page.page > 1 && html`<a class="button" rel="prev" href="${urlWith(call, { page: page.page > 2 ? String(page.page - 1) : null })}">Previous</a>`}${page.page < page.totalPages && html`<a class="button" rel="next" href="${urlWith(call, { page: String(page.page + 1) })}">Next</a>`}</nav></div>${exports && call.place && call.may('exports:read') && exportForm(call, { path: `${pathOf(call)}/export`, query: filterQuery(call, [COLUMNS]), columns: exports })}`
}
