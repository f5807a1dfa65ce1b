/**
 * The one mechanism of paged lists: a room describes its list once (which columns it sorts by, what each filter
 * means), and a query that came from outside is turned into SQL. Column names come only from the description, values
 * only travel as parameters, and whatever the description does not know is refused.
 */
import { invalidField } from '../core/errors.ts'
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from './database.ts'
import {
  type Bind,
  binding,
  expected,
  type Filter,
  filtersOf,
  instantBound,
  type ListQuery,
} from './list-filters.ts'
import {
  type Asked,
  COUNTED_PLACED_FROM,
  type Counted,
  LIMIT_MAX,
  type ListPlaces,
  PLACED_FROM,
} from './list-places.ts'
import { allRows, oneRow } from './rows.ts'

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
export interface WholeList extends Omit<Description, 'places' | 'counters'> {
  readonly account: null
}

interface Description {
  /** What to read, `payments p`. */
  readonly from: string
  readonly columns: string
  /** Unique within the account. */
  readonly id: string
  readonly sorts: Readonly<Record<string, string>> & { readonly created_at: string }
  /** Sorts by which no two rows of an account are alike, beside the id. */
  readonly distinct?: readonly string[]
  /** Beside `start_date` (created on or after) and `end_date` (created before), which every list has by what it sorts by. */
  readonly filters: Readonly<Record<string, Filter>>
  /** What the filter of the same name implies, added only where rows are read: it spares looking at the rest of them. */
  readonly hints?: Readonly<Record<string, Filter>>
  /** A condition that always holds, such as `deleted_at is null`. */
  readonly always?: string
  /** Where no counters tell the total, it is counted up to here and no further. */
  readonly countedMax?: bigint
  /** Kept beside the rows, under the same alias: their sum is the total when no other filter is given. */
  readonly counters?: Counters
  /** What the room keeps counted of its lists. */
  readonly places?: ListPlaces
}

interface Counters {
  readonly from: string
  readonly count: string
  readonly filters: readonly string[]
}

/** How far lists are counted that people look at: they want to know whether it is many. */
export const COUNTED_MAX = 10_000n
const LIMIT_DEFAULT = 25
/**
 * A page behind this many rows is deep: its ids are found first, from the end that is nearer, and its rows fetched after. On an
 * index that holds the order, what is skipped is then never fetched. Before it, the join would cost more than it saves.
 * Figures: docs/decisions/0013-lists.md.
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
  const order = orderBy(description, query)
  const skipped = BigInt(page - 1) * BigInt(limit)
  const asked: Asked = {
    db,
    query,
    conditions: (narrowed, bind) => conditions(description, accountId, narrowed, bind),
  }
  const shown = (rows: readonly Row[], { total, isBounded }: Total): Page<Item> => ({
    items: rows.map(itemOf),
    total: Number(total),
    ...(isBounded ? { isBounded } : {}),
    page,
    limit,
    totalPages: Number((total + BigInt(limit) - 1n) / BigInt(limit)),
  })

  if (skipped < DEEP_FROM || accountId === null) {
    const values: unknown[] = []
    const bind = binding(values)
    const rows = await allRows<Row>(
      db,
      `select ${description.columns} from ${description.from} where ${matchesOf(description, asked, bind)}
       order by ${written(order)} limit ${bind(limit, 'bigint')} offset ${bind(skipped, 'bigint')}`,
      values,
    )
    // A first page that is not full has shown everything there is.
    const isAll = page === 1 && rows.length < limit
    return shown(rows, isAll ? { total: BigInt(rows.length) } : await readTotal(asked, description))
  }
  const counted = await readTotal(asked, description)
  const { total } = counted
  if (skipped >= total) return shown([], counted)
  const take = total - skipped < BigInt(limit) ? total - skipped : BigInt(limit)
  return shown(await readDeep<Row>(asked, description, order, counted, { skipped, take }), counted)
}

/** The ids of a page first, from where it begins or from the end that is nearer, and its rows after. */
async function readDeep<Row>(
  asked: Asked,
  description: ListDescription,
  order: readonly Ordered[],
  { total, begin: beginOf }: Total,
  { skipped, take }: { readonly skipped: bigint; readonly take: bigint },
): Promise<Row[]> {
  const { from, id, account, columns } = description
  const fromEnd = total - skipped - take
  const nearer = fromEnd < skipped ? fromEnd : skipped
  const isDescending = order[0]?.[1] === 'desc'
  const place = isDescending ? fromEnd : skipped
  const isFar = nearer >= (beginOf ? COUNTED_PLACED_FROM : PLACED_FROM)
  const placed = isFar ? await (beginOf?.(place) ?? description.places?.begin(asked, place)) : null
  const begin = placed && placed.skip < nearer ? placed : null
  const [walked, skip] = begin
    ? [order.map(([column]) => [column, 'asc'] as const), begin.skip]
    : fromEnd < skipped
      ? [order.map(reversed), fromEnd]
      : [order, skipped]
  const values: unknown[] = []
  const bind = binding(values)
  // The account is the first of the values, for the rows too.
  const parts = begin?.conditions(bind) ?? [matchesOf(description, asked, bind)]
  const keys = order.map(([column], at) => `${column} as key_${at}`).join(', ')
  const found = parts.map(
    (
      matches,
      at,
    ) => `(select ${id} as found, ${keys} from ${from} where ${matches} order by ${written(walked)}
       limit ${bind(take, 'bigint')} offset ${bind(at === 0 ? skip : 0n, 'bigint')})`,
  )
  const byKeys = walked.map(([, direction], at) => [`key_${at}`, direction] as const)
  return allRows<Row>(
    asked.db,
    `select ${columns} from (
       select found from (${found.join(' union all ')}) parts order by ${written(byKeys)} limit ${bind(take, 'bigint')}) page
     join ${from} on ${account} = $1::uuid and ${id} = page.found order by ${written(order)}`,
    values,
  )
}

/** What selects the rows that are asked for, with what spares looking at others. */
const matchesOf = (description: Description, { query, conditions }: Asked, bind: Bind): string =>
  [conditions(query, bind), ...hints(description, query, bind)].join(' and ')

interface Total extends Partial<Counted> {
  readonly total: bigint
  readonly isBounded?: boolean
}

/** From kept counters where they can tell it, or by what else the room keeps, or by every match, as far as the list counts those. */
async function readTotal(asked: Asked, { counters, countedMax, from, places }: Description): Promise<Total> {
  const { db, query } = asked
  const values: unknown[] = []
  const matches = asked.conditions(query, binding(values))
  const read = (text: string) => oneRow<{ total: bigint }>(db, text, values)
  if (counters && filtersOf(query).every((name) => counters.filters.includes(name)))
    return read(`select coalesce(sum(${counters.count}), 0) as total from ${counters.from} where ${matches}`)
  if (countedMax === undefined)
    return (await places?.count(asked)) ?? read(`select count(*) as total from ${from} where ${matches}`)
  const { total } = await read(
    `select count(*) as total from (select from ${from} where ${matches} limit ${countedMax}) few`,
  )
  if (total < countedMax) return { total }
  const counted = await places?.count(asked)
  // Pages that would be walked to are not offered to people.
  return counted?.begin ? counted : { total, isBounded: true }
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
  for (const name of filtersOf(query)) {
    const given = query[name]
    if (given === undefined) continue
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
  const { id, sorts, distinct } = list
  // Equals stand by age; the id alone makes the order total, so that pages never overlap.
  const columns =
    column === id || distinct?.includes(sort) ? [column] : [...new Set([column, sorts.created_at, id])]
  return columns.map((each) => [each, order])
}

const written = (columns: readonly Ordered[]): string => columns.map((each) => each.join(' ')).join(', ')

const reversed = ([column, direction]: Ordered): Ordered => [column, direction === 'asc' ? 'desc' : 'asc']

function wholeNumber(query: ListQuery, name: 'page' | 'limit', fallback: number, most: number): number {
  const given = query[name] ?? fallback
  if (Number.isInteger(given) && given >= 1 && given <= most) return given
  throw expected(name, `a whole number from 1 to ${most}`, given)
}
