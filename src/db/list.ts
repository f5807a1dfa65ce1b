/**
 * The one mechanism of paged lists: a room describes its list once (which columns it sorts by, what each filter
 * means), and a query that came from outside is turned into SQL. Column names come only from the description, values
 * only travel as parameters, and whatever the description does not know is refused.
 */
import { invalidField } from '../core/errors.ts'
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from './database.ts'
import { type Bind, expected, type Filter, instantBound, type ListQuery } from './list-filters.ts'
import { allRows } from './rows.ts'

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Count of all matches, exact; of a list that counts up to a bound, the bound where there are as many or more. */
  readonly total: number
  /** The list counts no further. */
  readonly isBounded?: boolean
  readonly page: number
  readonly limit: number
  readonly totalPages: number
}

export interface ListDescription extends Description {
  /** The column that scopes the list to its merchant. */
  readonly account: string
}

/** A list of all merchants' rows, for whoever runs the whole Beck and nobody else. Its pages are never found by their ids first. */
export interface WholeList extends Omit<Description, 'days' | 'counters'> {
  readonly account: null
}

interface Description {
  /** What to read, `payments p`. */
  readonly from: string
  readonly columns: string
  /** Unique within the account. */
  readonly id: string
  readonly sorts: Readonly<Record<string, string>> & { readonly created_at: string }
  /** Beside `start_date` (created on or after) and `end_date` (created before), which every list has by what it sorts by. */
  readonly filters: Readonly<Record<string, Filter>>
  /** What the filter of the same name implies, added only where rows are read: it spares looking at the rest of them. */
  readonly hints?: Readonly<Record<string, Filter>>
  /** A condition that always holds, such as `deleted_at is null`. */
  readonly always?: string
  /** Where no counters tell the total, it is counted up to here and no further. */
  readonly countedMax?: bigint
  /** Kept beside the rows, under the same alias: their sum is the total when no other filter is given. */
  readonly counters?: {
    readonly from: string
    readonly count: string
    readonly filters: readonly string[]
  }
  /** Rows of each UTC day that is over, by `account_id` and `day`: where a deep page begins, when nothing is filtered. */
  readonly days?: { readonly from: string; readonly count: string }
}

/** How far lists are counted that people look at: they want to know whether it is many. */
export const COUNTED_MAX = 10_000n
const PAGING = ['page', 'limit', 'sort', 'order']
const LIMIT_DEFAULT = 25
const LIMIT_MAX = 100
/**
 * A page behind this many rows is deep: its ids are found first, from the end that is nearer, or from the day in which it
 * begins, and its rows fetched after. On an index that holds the order, what is skipped is then never fetched. Before it,
 * the join would cost more than it saves. Figures: docs/decisions/0013-lists.md.
 */
const DEEP_FROM = 1_000n

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

type Scope =
  | { readonly description: ListDescription; readonly accountId: AccountId }
  | { readonly description: WholeList; readonly accountId: null }

async function readPage<Row, Item>(
  db: Queryable,
  { description, accountId }: Scope,
  query: ListQuery,
  itemOf: (row: Row) => Item,
): Promise<Page<Item>> {
  const page = wholeNumber(query, 'page', 1, Number.MAX_SAFE_INTEGER)
  const limit = wholeNumber(query, 'limit', LIMIT_DEFAULT, LIMIT_MAX)
  const columns = orderBy(description, query)
  const order = written(columns)
  const values: unknown[] = []
  const matches = conditions(description, accountId, query, binding(values))
  const { from, id } = description
  const rowValues = [...values]
  const matching = `from ${from} where ${[matches, ...hints(description, query, binding(rowValues))].join(' and ')}`
  const skipped = BigInt(page - 1) * BigInt(limit)

  const counting = totalOf(description, query, matches)
  const count = async (): Promise<bigint> => {
    const { rows } = await db.query<{ total: bigint }>(counting.text, values)
    return rows[0]?.total ?? 0n
  }
  const window = `limit $${rowValues.length + 1}::bigint offset $${rowValues.length + 2}::bigint`
  const read = (text: string, take: bigint, skip: bigint): Promise<Row[]> =>
    allRows(db, text, [...rowValues, take, skip])
  const shown = (rows: readonly Row[], total: bigint): Page<Item> => ({
    items: rows.map(itemOf),
    total: Number(total),
    ...(counting.most !== undefined && total >= counting.most ? { isBounded: true } : {}),
    page,
    limit,
    totalPages: Number((total + BigInt(limit) - 1n) / BigInt(limit)),
  })

  if (skipped < DEEP_FROM || accountId === null) {
    const rows = await read(
      `select ${description.columns} ${matching} order by ${order} ${window}`,
      BigInt(limit),
      skipped,
    )
    // A first page that is not full has shown everything there is.
    return shown(rows, page === 1 && rows.length < limit ? BigInt(rows.length) : await count())
  }
  const total = await count()
  if (skipped >= total) return shown([], total)
  const take = total - skipped < BigInt(limit) ? total - skipped : BigInt(limit)
  const fromEnd = total - skipped - take
  const isNewestFirst = (query.order ?? 'desc') === 'desc'
  const begin = await findDay(db, description, accountId, query, total, isNewestFirst ? skipped : fromEnd)
  const newestFirst = columns.map(([column]) => [column, 'desc'] as const)
  const [nearer, skip] = begin
    ? [newestFirst, begin.skip]
    : fromEnd < skipped
      ? [columns.map(reversed), fromEnd]
      : [columns, skipped]
  const older = begin ? `and ${description.sorts.created_at} < '${begin.until}'::timestamptz` : ''
  const rows = await read(
    `select ${description.columns} from (select ${id} as found ${matching} ${older} order by ${written(nearer)} ${window}) page
     join ${from} on ${description.account} = $1::uuid and ${id} = page.found order by ${order}`,
    take,
    skip,
  )
  return shown(rows, total)
}

/**
 * The day in which a page begins, by the counts of days that are over; null where they do not tell.
 *
 * @param place - Of the page's newest row, from the newest of all.
 * @returns The end of that day, and the rows to skip before it; what is newer than all counted days is walked.
 */
async function findDay(
  db: Queryable,
  { days }: ListDescription,
  accountId: AccountId,
  query: ListQuery,
  total: bigint,
  place: bigint,
): Promise<{ until: string; skip: bigint } | null> {
  const isByTime = (query.sort ?? 'created_at') === 'created_at'
  if (!days || !isByTime || filtersOf(query).length > 0) return null
  const { rows } = await db.query<{ until: string; skip: bigint }>(
    `with days as (
       select day, ${days.count} as n, sum(${days.count}) over (order by day desc) as upto,
         $2::numeric - sum(${days.count}) over () as newer
       from ${days.from} where account_id = $1
     )
     select to_char(day + 1, 'YYYY-MM-DD"T00:00:00Z"') as until, $3::numeric - newer - upto + n as skip
     from days where $3::numeric >= newer and $3::numeric < newer + upto order by day desc limit 1`,
    [accountId, total, place],
  )
  return rows[0] ?? null
}

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

const binding =
  (values: unknown[]): Bind =>
  (value, type) =>
    `$${values.push(value)}::${type}`

const filtersOf = (query: ListQuery): string[] =>
  Object.keys(query).filter((name) => query[name] !== undefined && !PAGING.includes(name))

/** What selects the total, from kept counters where they can tell it, else by every match; and how far it counts those. */
function totalOf(
  { counters, countedMax, from }: Description,
  query: ListQuery,
  matches: string,
): { readonly text: string; readonly most?: bigint } {
  if (counters && filtersOf(query).every((name) => counters.filters.includes(name)))
    return {
      text: `select coalesce(sum(${counters.count}), 0) as total from ${counters.from} where ${matches}`,
    }
  if (countedMax === undefined) return { text: `select count(*) as total from ${from} where ${matches}` }
  const few = `select from ${from} where ${matches} limit ${countedMax}`
  return { text: `select count(*) as total from (${few}) few`, most: countedMax }
}

function conditions(
  list: ListDescription | WholeList,
  accountId: AccountId | null,
  query: ListQuery,
  bind: Bind,
): string {
  const all = [
    list.account === null ? 'true' : `${list.account} = ${bind(accountId, 'uuid')}`,
    ...(list.always ? [list.always] : []),
  ]
  const filters = new Map([
    ['start_date', instantBound(list.sorts.created_at, '>=')],
    ['end_date', instantBound(list.sorts.created_at, '<')],
    ...Object.entries(list.filters),
  ])
  for (const [name, given] of Object.entries(query)) {
    if (given === undefined || PAGING.includes(name)) continue
    const filter = filters.get(name)
    if (!filter) throw invalidField(name, 'unknown_parameter', `there is no parameter ${name} here`)
    all.push(filter(given, bind, query, name))
  }
  return all.join(' and ')
}

function hints(list: Description, query: ListQuery, bind: Bind): string[] {
  return Object.entries(list.hints ?? {}).flatMap(([name, hint]) => {
    const given = query[name]
    return given === undefined ? [] : [hint(given, bind, query, name)]
  })
}

type Ordered = readonly [column: string, direction: 'asc' | 'desc']

function orderBy(list: Description, query: ListQuery): Ordered[] {
  const sort = query.sort ?? 'created_at'
  const column = Object.hasOwn(list.sorts, sort) ? list.sorts[sort] : undefined
  if (!column) throw expected('sort', `one of ${Object.keys(list.sorts).join(', ')}`, sort)
  const order = query.order ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw expected('order', 'asc or desc', order)
  const { id, sorts } = list
  // Equals stand by age; the id alone makes the order total, so that pages never overlap.
  const columns = column === id ? [id] : [...new Set([column, sorts.created_at, id])]
  return columns.map((each) => [each, order])
}

const written = (columns: readonly Ordered[]): string => columns.map((each) => each.join(' ')).join(', ')

const reversed = ([column, direction]: Ordered): Ordered => [column, direction === 'asc' ? 'desc' : 'asc']

function wholeNumber(query: ListQuery, name: 'page' | 'limit', fallback: number, most: number): number {
  const given = query[name] ?? fallback
  if (Number.isInteger(given) && given >= 1 && given <= most) return given
  throw expected(name, `a whole number from 1 to ${most}`, given)
}
