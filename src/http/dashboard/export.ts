/** Exports: exactly what a list's filters match, with the columns and the time zone that were chosen, sent as it is read. */
import { Readable } from 'node:stream'
import type { Account } from '../../accounts/account.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import type { ListQuery } from '../../db/list-filters.ts'
import type { Permission } from '../../users/permissions.ts'
import { type Html, html } from '../hosted/html.ts'
import { EMPTY_FORM } from './form.ts'
import { type Filter, listQuery } from './list-query.ts'
import { hidden, select } from './parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, SENT } from './row.ts'
import { dayOf, inZone } from './words.ts'

/** An instant is written in the chosen zone. */
type Cell = string | number | Date | null

/** What a file has of each row of an account, by the names of its columns, in their order. */
export type ExportColumns<Row> = Readonly<Record<string, (row: Row, account: Account) => Cell>>

export interface Export<Row> {
  readonly columns: ExportColumns<Row>
  readonly filters: readonly Filter[]
  /** A batch at a time, however many there are. */
  read(
    db: Queryable,
    accountId: AccountId,
    query: ListQuery,
    may: PlaceCall['may'],
  ): AsyncIterable<readonly Row[]>
}

/** `GET /:account/<page>/export`, for whoever may export and read the page. Its order is the newest first, whatever the list's. */
export const exportRow = <Row>(page: string, alsoNeeds: Permission, given: Export<Row>): DashboardRow =>
  placeRow('exports:read', `GET /:account/${page}/export`, {
    alsoNeeds,
    isStream: true,
    handle(call) {
      const { sort: _sort, order: _order, ...query } = listQuery(call, given.filters)
      return sendExport(
        call,
        page,
        given.columns,
        given.read(call.gateway.db, call.place.account.id, query, call.may),
      )
    },
  })

/**
 * Sends rows as they are read: a batch of them is in memory at a time, and the next is read once the receiver has taken the last.
 *
 * @param name - Of the file, without its day and ending.
 */
async function sendExport<Row>(
  call: PlaceCall,
  name: string,
  columns: ExportColumns<Row>,
  batches: AsyncIterable<readonly Row[]>,
): Promise<typeof SENT> {
  const { timeZone } = call.place.membership
  const isCsv = call.query.format !== 'jsonl'
  const zone = call.query.zone === 'local' ? timeZone : 'UTC'
  const cells = chosenColumns(call, columns)
  const rowOf = (row: Row) =>
    Object.fromEntries(
      cells.map(([column, of]) => {
        const cell = of(row, call.place.account)
        return [column, cell instanceof Date ? inZone(cell, zone) : cell]
      }),
    )
  const write = isCsv
    ? await csvWriter(cells.map(([column]) => column))
    : (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  async function* texts() {
    let isFirst = true
    for await (const rows of batches) {
      yield write(rows.map(rowOf), isFirst)
      isFirst = false
    }
  }
  const file = `${name}-${dayOf(new Date(), timeZone)}.${isCsv ? 'csv' : 'jsonl'}`
  call.reply
    .type(isCsv ? 'text/csv; charset=utf-8' : 'application/jsonl; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${file}"`)
    .send(Readable.from(texts()))
  return SENT
}

/** Those that were ticked; all where none was. */
function chosenColumns<Row>(call: PlaceCall, columns: ExportColumns<Row>) {
  const all = Object.entries(columns)
  const chosen = all.filter(([name]) => call.query[`column_${name}`] !== undefined)
  return chosen.length > 0 ? chosen : all
}

/** Cells that a spreadsheet would take for formulas are marked as text. */
async function csvWriter(columns: readonly string[]) {
  const { stringify } = await import('csv-stringify/sync')
  return (rows: readonly object[], isFirst: boolean) =>
    stringify([...rows], {
      columns: [...columns],
      header: isFirst,
      escape_formulas: true,
      record_delimiter: 'windows',
    })
}

/** Where a file begins: all columns at once, or those that are wanted. */
export function exportForm(
  call: PlaceCall,
  given: { readonly path: string; readonly query: string; readonly columns: readonly string[] },
): Html {
  const { path, query, columns } = given
  const own = { form: EMPTY_FORM, problem: null }
  const to = (format: string) => `${path}?format=${format}${query && `&${query}`}`
  return html`<div class="exports"><span>Export: <a href="${to('csv')}" download>CSV</a>, <a href="${to('jsonl')}" download>JSON Lines</a></span><details><summary>Choose the file’s columns</summary><form method="get" action="${path}">${[...new URLSearchParams(query)].map(([name, value]) => hidden(name, value))}<fieldset class="checks"><legend>Columns</legend><div>${columns.map((name) => html`<label><input type="checkbox" name="column_${name}" checked> <span>${name.replaceAll('_', ' ')}</span></label>`)}</div></fieldset><div class="pair">${select(
    own,
    {
      name: 'zone',
      label: 'Times in',
      choices: [
        ['utc', 'UTC'],
        ['local', call.place.membership.timeZone],
      ],
    },
  )}${select(own, {
    name: 'format',
    label: 'Format',
    choices: [
      ['csv', 'CSV'],
      ['jsonl', 'JSON Lines'],
    ],
  })}</div><div class="actions"><button type="submit">Export</button></div></form></details></div>`
}
