/** A page of a list, and how many match: as few rows are read for it as its room's indexes, counters and counts allow. */
import type { AccountId } from '../core/ids.ts'
import { divideDown, divideUp, smaller } from '../core/money.ts'
import type { Queryable } from './database.ts'
import {
  conditions,
  type Description,
  hints,
  type ListDescription,
  type Ordered,
  orderBy,
  reversed,
  type WholeList,
  written,
} from './list-description.ts'
import { type Bind, binding, filtersOf, type ListQuery, wholeNumber } from './list-filters.ts'
import {
  type Asked,
  COUNTED_PLACED_FROM,
  type Conditions,
  type Counted,
  LIMIT_MAX,
  PLACED_FROM,
} from './list-places.ts'
import { readWithin } from './read-within.ts'
import { allRows, oneRow } from './rows.ts'
import { sortsMany } from './sorts-many.ts'

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Count of all matches, exact; of a list that is counted up to a bound, the bound where there are as many or more. */
  readonly total: number
  /** The list counts no further. */
  readonly isBounded?: boolean
  readonly page: number
  readonly limit: number
  readonly totalPages: number
}

const LIMIT_DEFAULT = 25
/**
 * A page behind this many rows is deep: its ids are found first, from the end that is nearer, and its rows fetched after. On an
 * index that holds the order, what is skipped is then never fetched. Before it, the join would cost more than it saves.
 * Figures: docs/decisions/0013-lists.md.
 */
const DEEP_FROM = 1_000n

/**
 * A merchant's list that is filtered is walked through for so long before the page is looked for in another way: what matches may stand
 * together far from either end, and no statistics tell that. Usual walks to a first page take a third of it, or less.
 */
const WALK_MS = 10
/** Where few enough match to be sorted, a walk has a millisecond more for so many: to read and to sort them takes six times as long. */
const MATCHES_PER_MS = 4_000n
/** And where they are not, or nobody knows, one more for so many that lie before the page, up to this many. */
const SKIPPED_PER_MS = 500n
const SKIPPED_MS_MAX = 25
/** Of that it has so much where what counted the list places its pages too: a walk in vain is then most of what such a page takes beside the count. */
const COUNTED_SHARE = 0.5
/** And for so long from where a page begins: it takes as many milliseconds as a walk, or twice as many, but where it has of two places. */
const PLACED_MS = 40
/** So few that match are read, whichever index finds them, and sorted, where a walk takes too long. */
const SORTED_MAX = 50_000n

type Scope =
  | { readonly description: ListDescription; readonly accountId: AccountId }
  | { readonly description: WholeList; readonly accountId: null }

/** What is read, and in which order. */
interface Reading {
  readonly asked: Asked
  readonly description: Description
  readonly order: readonly Ordered[]
  /** What is asked, as a walk is told it. */
  readonly conditions: Conditions
}

export async function readPage<Row, Item>(
  db: Queryable,
  { description: list, accountId }: Scope,
  query: ListQuery,
  itemOf: (row: Row) => Item,
): Promise<Page<Item>> {
  const description: Description = list
  const page = wholeNumber(query, 'page', 1, Number.MAX_SAFE_INTEGER)
  const limit = wholeNumber(query, 'limit', LIMIT_DEFAULT, LIMIT_MAX)
  const order = orderBy(description, query)
  const skipped = BigInt(page - 1) * BigInt(limit)
  const asked: Asked = {
    db,
    query,
    conditions: (narrowed, bind) => conditions(list, accountId, narrowed, bind),
  }
  // What is asked wrongly is refused before anything is read.
  asked.conditions(query, binding([]))
  const reading: Reading = {
    asked,
    description,
    order,
    conditions: (await description.places?.conditions(asked)) ?? ((bind) => asked.conditions(query, bind)),
  }
  const shown = (rows: readonly Row[], { total, isBounded }: Total): Page<Item> => ({
    items: rows.map(itemOf),
    total: Number(total),
    ...(isBounded ? { isBounded } : {}),
    page,
    limit,
    totalPages: Number(divideUp(total, BigInt(limit))),
  })

  const isDeep = skipped >= DEEP_FROM && accountId !== null
  if (!isDeep) {
    const values: unknown[] = []
    const bind = binding(values)
    const rows = await (accountId === null ? walkOn : walk)<Row>(
      reading,
      `select ${description.columns} from ${description.from} where ${matchesOf(reading, bind)}
       order by ${written(order)} limit ${bind(limit, 'bigint')} offset ${bind(skipped, 'bigint')}`,
      values,
    )
    if (rows) {
      // A first page that is not full has shown everything there is.
      const isAll = page === 1 && rows.length < limit
      return shown(rows, isAll ? { total: BigInt(rows.length) } : await readTotal(asked, description))
    }
  }
  const told = await tellTotal(asked, description, true)
  if (!told && !isDeep) {
    const few = await readFew<Row>(reading, skipped, limit)
    if (few) return shown(few.rows, few.total)
  }
  const counted = told ?? (await countMatches(asked, description))
  const { total } = counted
  if (skipped >= total) return shown([], counted)
  if (counted.isBounded)
    return shown(await readFromFirst<Row>(reading, total, { skipped, limit, wasWalked: !isDeep }), counted)
  const take = smaller(total - skipped, BigInt(limit))
  return shown(await readPlaced<Row>(reading, counted, { skipped, take, wasWalked: !isDeep }), counted)
}

/**
 * A page of a list whose end is so far that nobody counts how far.
 *
 * @param least - So many match, or more.
 */
async function readFromFirst<Row>(
  reading: Reading,
  least: bigint,
  part: { readonly skipped: bigint; readonly limit: number; readonly wasWalked: boolean },
): Promise<readonly Row[]> {
  const { order, asked } = reading
  const walked = statementOf(reading, BigInt(part.limit), {
    order,
    skip: part.skipped,
    conditions: (bind) => [matchesOf(reading, bind)],
  })
  if (!part.wasWalked && least < SORTED_MAX) {
    const rows =
      (await walk<Row>(reading, ...walked, WALK_MS + longerFor(part.skipped))) ??
      (await readFew<Row>(reading, part.skipped, part.limit))?.rows
    if (rows) return rows
  }
  return allRows<Row>(asked.db, ...walked)
}

/**
 * How many match, and the page of them, where they are few: all are read, by whichever index finds them, and sorted. PostgreSQL would take
 * an index of the order as soon as it were asked for a page. Null where there are more.
 */
async function readFew<Row>(
  reading: Reading,
  skipped: bigint,
  limit: number,
): Promise<{ readonly rows: readonly Row[]; readonly total: Total } | null> {
  const { asked, description, order } = reading
  const { from, id, columns, countedMax } = description
  const values: unknown[] = []
  const bind = binding(values)
  const found = await allRows<Row & { matching: bigint; found: string | null }>(
    asked.db,
    `with matching as materialized (
       select ${id} as found, ${keysOf(order)} from ${from} where ${asked.conditions(asked.query, bind)} limit ${SORTED_MAX + 1n}
     ), page as (
       select found from matching order by ${byKeys(order)} limit ${bind(limit, 'bigint')} offset ${bind(skipped, 'bigint')})
     select counted.matching, page.found, ${columns} from (select count(*) as matching from matching) counted
     left join (page join ${from} on ${asked.conditions({}, bind)} and ${id} = page.found) on true order by ${written(order)}`,
    values,
  )
  const total = found[0]?.matching ?? 0n
  if (total > SORTED_MAX) return null
  const rows = found.filter((row) => row.found !== null).map(({ matching, found: _, ...row }) => row as Row)
  const isBounded = countedMax !== undefined && total >= countedMax
  return { rows, total: isBounded ? { total: countedMax, isBounded } : { total } }
}

const keysOf = (order: readonly Ordered[]): string =>
  order.map(([column], at) => `${column} as key_${at}`).join(', ')

const byKeys = (order: readonly Ordered[]): string =>
  written(order.map(([, direction], at) => [`key_${at}`, direction]))

/** Null where it takes longer than it usually does: what matches is rare, or stands together somewhere else. */
const walk = <Row>(
  { asked: { db, query } }: Reading,
  text: string,
  values: readonly unknown[],
  withinMs: number = WALK_MS,
): Promise<Row[] | null> =>
  filtersOf(query).length > 0 ? readWithin<Row>(db, withinMs, text, values) : allRows<Row>(db, text, values)

const longerFor = (skipped: bigint) => Math.min(Number(divideDown(skipped, SKIPPED_PER_MS)), SKIPPED_MS_MAX)

/** However long it takes. */
const walkOn: typeof walk = ({ asked: { db } }, text, values) => allRows(db, text, values)

interface Part {
  readonly skipped: bigint
  readonly take: bigint
  /** In vain: it took too long. */
  readonly wasWalked: boolean
}

/** From where the page begins, or from the end that is nearer, or of all that match where they are few. */
async function readPlaced<Row>(
  reading: Reading,
  { total, begin: beginOf }: Total,
  part: Part,
): Promise<readonly Row[]> {
  const { asked, description, order } = reading
  const read = (how: Walk) => allRows<Row>(asked.db, ...statementOf(reading, part.take, how))
  const fromEnd = total - part.skipped - part.take
  const nearer = smaller(fromEnd, part.skipped)
  const isFar = nearer >= (beginOf ? COUNTED_PLACED_FROM : PLACED_FROM)
  const fromNearer: Walk = {
    ...(fromEnd < part.skipped
      ? { order: order.map(reversed), skip: fromEnd }
      : { order, skip: part.skipped }),
    conditions: (bind) => [matchesOf(reading, bind)],
  }
  let isTried = part.wasWalked
  const tryToWalk = async (): Promise<Row[] | null> => {
    if (isTried) return null
    isTried = true
    const walked = statementOf(reading, part.take, fromNearer)
    if (total > SORTED_MAX) {
      const withinMs = WALK_MS + longerFor(nearer)
      return walk<Row>(reading, ...walked, beginOf ? withinMs * COUNTED_SHARE : withinMs)
    }
    // What PostgreSQL would sort anyway is sorted by its keys alone in less time.
    if (await sortsMany(asked.db, ...walked)) return null
    return walk<Row>(reading, ...walked, WALK_MS + Number(divideDown(total, MATCHES_PER_MS)))
  }
  const near = isFar ? null : await tryToWalk()
  if (near) return near
  const place = order[0]?.[1] === 'desc' ? fromEnd : part.skipped
  const begin = await (beginOf?.(place) ?? description.places?.begin(asked, place))
  if (!begin && total > SORTED_MAX) return read(fromNearer)
  const rows = !begin || begin.skip >= nearer ? await tryToWalk() : null
  if (rows) return rows
  if (begin) {
    const placed = statementOf(reading, part.take, {
      ...begin,
      order: order.map(([column]) => [column, 'asc']),
    })
    if (total > SORTED_MAX) return allRows<Row>(asked.db, ...placed)
    // What matches may stand together in two places, and the page have of both.
    const found = await readWithin<Row>(asked.db, PLACED_MS, ...placed)
    if (found) return found
  }
  const few = await readFew<Row>(reading, part.skipped, Number(part.take))
  return few?.rows ?? read(fromNearer)
}

interface Walk {
  conditions(bind: Bind): readonly string[]
  readonly order: readonly Ordered[]
  readonly skip: bigint
}

/** The ids of a page first, and its rows after. */
function statementOf(
  { asked, description: { from, id, columns }, order }: Reading,
  take: bigint,
  { conditions: partsOf, order: walked, skip }: Walk,
): [text: string, values: readonly unknown[]] {
  const values: unknown[] = []
  const bind = binding(values)
  const parts = partsOf(bind)
  const found = parts.map(
    (
      matches,
      at,
    ) => `(select ${id} as found, ${keysOf(order)} from ${from} where ${matches} order by ${written(walked)}
       limit ${bind(take, 'bigint')} offset ${bind(at === 0 ? skip : 0n, 'bigint')})`,
  )
  // Each id was found within the list; it is told once more, so that whatever found it, no other's row is shown.
  const isOfList = asked.conditions({}, bind)
  return [
    `select ${columns} from (
       select found from (${found.join(' union all ')}) parts order by ${byKeys(walked)} limit ${bind(take, 'bigint')}) page
     join ${from} on ${isOfList} and ${id} = page.found order by ${written(order)}`,
    values,
  ]
}

/** What selects the rows that are asked for, with what spares looking at others. */
const matchesOf = ({ asked: { query }, description, conditions: matches }: Reading, bind: Bind): string =>
  [matches(bind), ...hints(description, query, bind)].join(' and ')

interface Total extends Partial<Counted> {
  readonly total: bigint
  readonly isBounded?: boolean
}

/** However it is told, or by every match, as far as the list counts those. */
const readTotal = async (asked: Asked, description: Description): Promise<Total> =>
  (await tellTotal(asked, description, false)) ?? countMatches(asked, description)

/** From kept counters, or by what else the room keeps. Null where neither tells it. */
async function tellTotal(
  asked: Asked,
  { counters, places }: Description,
  isForPage: boolean,
): Promise<Total | null> {
  const { db, query } = asked
  if (!counters || !filtersOf(query).every((name) => counters.filters.includes(name)))
    return (await places?.count(asked, isForPage)) ?? null
  const values: unknown[] = []
  const matches = asked.conditions(query, binding(values))
  return oneRow<{ total: bigint }>(
    db,
    `select coalesce(sum(${counters.count}), 0) as total from ${counters.from} where ${matches}`,
    values,
  )
}

async function countMatches(
  { db, query, conditions: of }: Asked,
  { countedMax, from }: Description,
): Promise<Total> {
  const values: unknown[] = []
  const bound = countedMax === undefined ? '' : ` limit ${countedMax}`
  const { total } = await oneRow<{ total: bigint }>(
    db,
    `select count(*) as total from (select from ${from} where ${of(query, binding(values))}${bound}) matching`,
    values,
  )
  // Pages that would be walked to are not offered to people.
  return total === countedMax ? { total, isBounded: true } : { total }
}
