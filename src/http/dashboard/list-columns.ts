/** Columns that many lists have, and which of a list's show: those in its URL, or else the usual ones. */
import { type Html, html } from '../hosted/html.ts'
import { COLUMNS, filterQuery } from './list-query.ts'
import { type Column, copyable, hidden } from './parts.ts'
import { type ListCall, zoneOf } from './row.ts'
import { time } from './words.ts'

/** When each was made, which lists are sorted by. */
export const createdColumn = (
  call: ListCall,
  label = 'Created',
  more: Pick<Column<never>, 'isMinor'> = {},
): Column<{ readonly createdAt: Date }> => ({
  label,
  name: 'created',
  sort: 'created_at',
  ...more,
  cell: (row) => time(row.createdAt, zoneOf(call)),
})

/**
 * Something to copy, whole: for who asks for the column, if nothing else is said.
 *
 * @param what - For a screen reader: `the id`.
 */
export const copyColumn = <Row>(
  label: string,
  name: string,
  what: string,
  textOf: (row: Row) => string | null,
  more: Pick<Column<Row>, 'isExtra' | 'isMinor'> = { isExtra: true },
): Column<Row> => ({
  label,
  name,
  ...more,
  cell(row) {
    const text = textOf(row)
    return text && copyable(text, `Copy ${what}`)
  },
})

const chosenColumns = (call: ListCall): readonly string[] | null => call.query[COLUMNS]?.split(',') ?? null

/** Who chose columns sees them on a phone too. */
export function shownColumns<Row>(call: ListCall, columns: readonly Column<Row>[]): readonly Column<Row>[] {
  const chosen = chosenColumns(call)
  if (!chosen) return columns.filter(({ isExtra }) => !isExtra)
  return columns
    .filter(({ name }) => name === undefined || chosen.includes(name))
    .map((column) => ({ ...column, isMinor: false }))
}

/** The choice, for a list that has one. */
export function columnForm<Row>(call: ListCall, columns: readonly Column<Row>[]): Html | false {
  const named = columns.filter(({ name }) => name !== undefined)
  if (named.length === 0) return false
  const shown = shownColumns(call, columns).map(({ name }) => name)
  const rest = filterQuery(call, [COLUMNS])
  const path = call.request.url.split('?')[0] ?? ''
  return html`<details class="card"><summary>Columns</summary><form method="get" action="${path}">${[...new URLSearchParams(rest)].map(([name, value]) => hidden(name, value))}<fieldset class="checks"><legend class="hidden">Columns that show</legend><div>${named.map(({ name, label }) => html`<label><input type="checkbox" name="${COLUMNS}" value="${name}"${shown.includes(name) && html` checked`}> <span>${label}</span></label>`)}</div></fieldset><div class="actions"><button type="submit" class="primary">Show these</button><a class="button" href="${path}${rest && `?${rest}`}">The usual ones</a></div></form></details>`
}
