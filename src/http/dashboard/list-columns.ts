/** Which columns of a list show: those in its URL, or else the usual ones. */
import { type Html, html } from '../hosted/html.ts'
import { COLUMNS, filterQuery } from './list-query.ts'
import { type Column, hidden } from './parts.ts'
import type { ListCall } from './row.ts'

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
