/** The one mechanism of paged lists: a room describes its list once (list-description.ts), and is asked for pages or for all of it. */
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from './database.ts'
import { conditions, hints, type ListDescription, type WholeList } from './list-description.ts'
import { binding, type ListQuery } from './list-filters.ts'
import { type Page, readPage } from './list-page.ts'

export { COUNTED_MAX, type ListDescription, type WholeList } from './list-description.ts'
export type { Page } from './list-page.ts'

/** A list of an account, as its room offers it. */
export interface AccountList<Item> {
  /**
   * One page, the newest first unless the query says otherwise.
   *
   * @throws {Refusal} `invalid`, with a detail for the field: unknown sort, order, filter or value, page or limit out of
   *   range.
   */
  page(db: Queryable, accountId: AccountId, query: ListQuery): Promise<Page<Item>>
  /**
   * All that a query matches, the newest first, a thousand rows at a time. Each batch goes on behind the last row of the one
   * before, so that ten million take as much memory as a thousand, and no transaction is held open.
   *
   * @throws {Refusal} as for a page.
   */
  batches(db: Queryable, accountId: AccountId, query: ListQuery): AsyncGenerator<readonly Item[]>
}

/** @param itemOf - What a row is shown as; without it, the columns are named as the item has them. */
export const listOf = <Item, Row = Item>(
  description: ListDescription,
  itemOf: (row: Row) => Item = asItIs,
): AccountList<Item> => ({
  page: (db, accountId, query) => readPage(db, { description, accountId }, query, itemOf),
  batches: (db, accountId, query) => readBatches(db, description, accountId, query, itemOf),
})

/** Reads a page of all merchants' rows, as {@link listOf} those of one. */
export const wholeListOf =
  <Item, Row = Item>(description: WholeList, itemOf: (row: Row) => Item = asItIs) =>
  (db: Queryable, query: ListQuery): Promise<Page<Item>> =>
    readPage(db, { description, accountId: null }, query, itemOf)

/** Where nothing says what a row is shown as, `Row` is `Item`: a default of a type that the compiler cannot tie to that of a value. */
const asItIs = (row: unknown): never => row as never

const BATCH = 1_000

async function* readBatches<Row, Item>(
  db: Queryable,
  description: ListDescription,
  accountId: AccountId,
  query: ListQuery,
  itemOf: (row: Row) => Item,
): AsyncGenerator<readonly Item[]> {
  const { from, columns, id, sorts } = description
  // Where ids grow with time, they give the order alone.
  const isById = sorts.created_at === id
  let after: { cursor_at: string; cursor_id: string } | undefined
  for (;;) {
    const values: unknown[] = []
    const bind = binding(values)
    const matches = [conditions(description, accountId, query, bind), ...hints(description, query, bind)]
    if (after)
      matches.push(
        isById
          ? `${id} < ${bind(after.cursor_id, 'uuid')}`
          : `(${sorts.created_at}, ${id}) < (${bind(after.cursor_at, 'timestamptz')}, ${bind(after.cursor_id, 'uuid')})`,
      )
    const { rows } = await db.query<Row & { cursor_at: string; cursor_id: string }>(
      `select ${columns}, ${sorts.created_at}::text as cursor_at, ${id} as cursor_id from ${from}
       where ${matches.join(' and ')} order by ${isById ? '' : `${sorts.created_at} desc, `}${id} desc limit ${BATCH}`,
      values,
    )
    if (rows.length > 0 || !after) yield rows.map(itemOf)
    after = rows.at(-1)
    if (rows.length < BATCH) return
  }
}
