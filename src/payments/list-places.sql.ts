/**
 * Where a page deep inside of a merchant's payments begins, and how many lie in a range, by what is kept counted of them
 * (payment-ranks.sql.ts) and by each payment that is newer. It is told for filters of coin and status, and for the range by
 * which the list is sorted; with any other, null: those have to be walked through.
 */
import { invariant } from '../core/errors.ts'
import { fiatFromNumber } from '../core/money.ts'
import { parseInstant } from '../core/time.ts'
import { type Bind, binding, filtersOf, type ListQuery } from '../db/list-filters.ts'
import {
  type Asked,
  type Begin,
  LIMIT_MAX,
  type ListPlaces,
  PLACED_FROM,
  type Place,
} from '../db/list-places.ts'
import { firstRow, oneRow } from '../db/rows.ts'
import { CHANGES, keyOf, keyOfRung, RUNG_SORTS, type Rung, type RungSort } from './payment-ranks.sql.ts'

const WORDS = ['filter_asset', 'filter_asset_op', 'filter_status', 'filter_status_op']
/** So many are walked through as soon as it is told how many they are; and no page of them is far from either end. */
const FEW = 2n * PLACED_FROM

/** A range of payments: from one bound on, and before another. */
interface Range {
  readonly from: string
  readonly to: string
  /** The sort that it is a part of. */
  readonly sort: 'created_at' | 'total'
  readonly type: 'timestamptz' | 'bigint'
  /** @param isTo - What is given may lie in the range, and the bound behind it. */
  boundOf(given: string | number, isTo: boolean): unknown
  /**
   * What selects `bound` and, of matching payments, how many stand before it, as `counted`.
   *
   * @param bounds - A table of it.
   */
  countBefore(matches: string, madeBefore: string, bounds: string): string
  /** What else is told of it, for `begin`: columns behind `before` and `upto`. */
  readonly also: string
  begin(asked: Asked, place: Place, row: RangeCount): Promise<Found | null>
}

interface RangeCount {
  /** So many stand before the range; so many before its end. */
  readonly before: bigint
  readonly upto: bigint
  /** From where the range begins to its last. */
  readonly rungs?: readonly PlacedRung[]
}

/** Bigints as text: JSON would make floats of them. */
const RUNGS_INSIDE = `, (select coalesce(json_agg(json_build_object('before', ranked.before::text, 'net_minor', net_minor::text,
    'created_at', created_at, 'id', id) order by n), '[]') from ranked
  where n >= (select max(n) from ranked where ranked.before <= outside.before) and ranked.before < outside.upto) as rungs`

const RANGES: readonly Range[] = [
  {
    from: 'start_date',
    to: 'end_date',
    sort: 'created_at',
    type: 'timestamptz',
    boundOf: (given) => parseInstant(String(given)),
    countBefore: countBeforeTime,
    also: '',
    begin: (asked, place) => findDay(asked, 'created_at', place),
  },
  {
    from: 'total_min',
    to: 'total_max',
    sort: 'total',
    type: 'bigint',
    boundOf(given, isTo) {
      const minor = fiatFromNumber(Number(given))
      invariant(minor !== null, 'what is given was read as a filter')
      return minor + (isTo ? 1n : 0n)
    },
    countBefore: countBelowTotal,
    also: RUNGS_INSIDE,
    async begin(asked, place, { rungs }) {
      const rung = rungs?.findLast(({ before }) => BigInt(before) <= place)
      return rung ? atRung(asked, 'total', rung) : null
    },
  },
]

export const PAYMENT_PLACES: ListPlaces = {
  async count(asked) {
    const range = rangeOf(asked.query)
    if (!range || (await isFew(asked, range))) return null
    const row = await countRange(asked, range)
    if (!row) return null
    const total = row.upto > row.before ? row.upto - row.before : 0n
    if (range.sort !== sortOf(asked.query)) return { total }
    return {
      total,
      async begin(place) {
        const found = await range.begin(asked, row.before + place, row)
        // One that stands before the range says no more than where the range begins.
        if (!found || found.before < row.before)
          return found && { skip: place, conditions: (bind) => [asked.conditions(asked.query, bind)] }
        return { skip: row.before + place - found.before, conditions: found.conditions }
      },
    }
  },

  async begin(asked, place) {
    // A range that was not counted begins nobody knows where.
    if (rangeOf(asked.query) !== null) return null
    const sort = sortOf(asked.query)
    const found = await (sort === 'total' || sort === 'id'
      ? findRung(asked, sort, place)
      : findDay(asked, sort, place))
    return found && { skip: place - found.before, conditions: found.conditions }
  },
}

const sortOf = (query: ListQuery): string => query.sort ?? 'created_at'

/** Whatever their coins and states are. */
async function isFew({ db, query, conditions }: Asked, { from, to }: Range): Promise<boolean> {
  const values: unknown[] = []
  const inRange = conditions({ [from]: query[from], [to]: query[to] }, binding(values))
  const { few } = await oneRow<{ few: bigint }>(
    db,
    `select count(*) as few from (select from payments p where ${inRange} limit ${FEW}) found`,
    values,
  )
  return few < FEW
}

/** Null without a range; undefined where something else is filtered too. */
function rangeOf(query: ListQuery): Range | null | undefined {
  const filters = filtersOf(query).filter((name) => !WORDS.includes(name))
  if (filters.length === 0) return null
  return RANGES.find(({ from, to }) => filters.every((name) => name === from || name === to))
}

const without = (query: ListQuery, ...names: readonly string[]): ListQuery =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)))

function countRange(asked: Asked, range: Range): Promise<RangeCount | null> {
  const { query } = asked
  const bounds = [range.from, range.to].map((name) => {
    const given = query[name]
    return given === undefined ? null : range.boundOf(given, name === range.to)
  })
  return told<RangeCount>(
    asked,
    (
      matches,
      madeBefore,
      bind,
    ) => `${range.countBefore(matches, madeBefore, `unnest(${bind(bounds, `${range.type}[]`)}) bounds (bound)`)},
     outside as (
       select coalesce(min(before) filter (where bound = ${bind(bounds[0], range.type)}), 0) as before,
         coalesce(max(before) filter (where bound = ${bind(bounds[1], range.type)}),
           (select sum(p.payments) from payment_counts p where ${matches}), 0) as upto
       from counted having count(*) > 0
     ) select before, upto${range.sort === sortOf(query) ? range.also : ''} from outside`,
  )
}

/** Taken anew where a count comes between it and what is asked of it. */
const TRIES = 3

/**
 * What a statement tells of an account's payments of some coins and states, as they are counted; null where they are not.
 *
 * @param text - After `made`, which has the moment before which payments are counted. It is given as a value besides: by that
 *   the planner sees how few payments are newer. What matches is a condition on `p`, be it payments or counts of them.
 */
async function told<Row>(
  { db, query, conditions }: Asked,
  text: (matches: string, madeBefore: string, bind: Bind) => string,
): Promise<Row | null> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const values: unknown[] = []
    const bind = binding(values)
    const matches = conditions(without(query, ...RANGES.flatMap(({ from, to }) => [from, to])), bind)
    const ranks = await firstRow<{ moment: string }>(
      db,
      `select made_before::text as moment from payment_ranks where account_id = $1 and made_before > '-infinity'`,
      values.slice(0, 1),
    )
    if (!ranks) return null
    const moment = bind(ranks.moment, 'timestamptz')
    const row = await firstRow<Row>(
      db,
      `with made as (select made_before from payment_ranks where account_id = $1::uuid and made_before = ${moment}),
       ${text(matches, moment, bind)}`,
      values,
    )
    if (row) return row
  }
  return null
}

/** As they are counted by day: `p`, with what changed since. */
const daily = (madeBefore: string): string => `(
  select account_id, day, asset, status, payments from daily_payments
  union all select account_id, (created_at at time zone 'UTC')::date, asset, status, n from (${CHANGES}) changes
  where account_id = $1::uuid and created_at < ${madeBefore}) p`

function countBeforeTime(matches: string, madeBefore: string, bounds: string): string {
  return `begins as (
      select bound, case when bound < ${madeBefore} then date_trunc('day', bound, 'UTC') else ${madeBefore} end as at
      from ${bounds} cross join made where bound is not null
    ), counted as (
      select bound, closed.payments + newer.payments as before from begins cross join lateral (
        select coalesce(sum(p.payments), 0) as payments from ${daily(madeBefore)} where ${matches}
          and (bound >= ${madeBefore} or p.day < (bound at time zone 'UTC')::date)) closed
      cross join lateral (
        select count(*) as payments from payments p where ${matches} and p.created_at >= begins.at and p.created_at < bound) newer
    )`
}

function countBelowTotal(matches: string, madeBefore: string, bounds: string): string {
  return `${ranked('total', matches, madeBefore)}, counted as (
      select bound, before + payments as before from ${bounds} cross join lateral (
        select * from ranked where net_minor < bound or n = 1 order by n desc limit 1) begin
      cross join lateral (
        select count(*) as payments from payments p where ${matches} and p.net_minor < bound
          and ${keyOf('total', 'p')} >= ${keyOf('total', 'begin')}) behind
      where bound is not null
    )`
}

interface Found extends Pick<Begin, 'conditions'> {
  /** So many matching payments stand before it. */
  readonly before: bigint
}

/** Sorted by time, alone or within each coin or status: the last day that has no more before it. */
async function findDay(asked: Asked, sort: string, place: Place): Promise<Found | null> {
  const word = sort === 'created_at' ? `''` : `p.${sort}`
  const row = await told<{ word: string; at: string; before: bigint; behind: bigint }>(
    asked,
    (matches, madeBefore, bind) => `days as (
       select ${word} as word, day, sum(p.payments) as payments from ${daily(madeBefore)} where ${matches} group by 1, 2
     ), newer as (
       select word, 'infinity'::date as day, sum(payments) as payments from (
         select ${word} as word, p.payments from payment_counts p where ${matches}
         union all select word, -payments from days) all_told
       group by 1
     ), ranked as (
       select word, day, sum(payments) over (order by word, day) - payments as before,
         sum(payments) over (order by word) as behind
       from (select * from days union all select * from newer) cells
     )
     select word, before, behind,
       (case when day = 'infinity' then made_before else day::timestamp at time zone 'UTC' end)::text as at
     from ranked cross join made where before <= ${bind(place, 'numeric')} order by word desc, day desc limit 1`,
  )
  if (!row) return null
  const { query } = asked
  return {
    before: row.before,
    conditions(bind) {
      if (sort === 'created_at')
        return [
          `${asked.conditions(without(query, 'start_date'), bind)} and p.created_at >= ${bind(row.at, 'timestamptz')}`,
        ]
      // A list of words beside the one would be walked through from its first.
      const ofWord = asked.conditions(without(query, `filter_${sort}`, `filter_${sort}_op`), bind)
      const found = bind(row.word, 'text')
      const first = `${ofWord} and ${word} = ${found} and p.created_at >= ${bind(row.at, 'timestamptz')}`
      // Later words are walked through only where the page may reach them.
      if (place + BigInt(LIMIT_MAX) <= row.behind) return [first]
      return [first, `${asked.conditions(query, bind)} and ${word} > ${found}`]
    },
  }
}

/** A rung, and how many matching payments stand before it. */
interface PlacedRung extends Rung {
  readonly before: bigint | string
}

async function findRung(asked: Asked, sort: RungSort, place: Place): Promise<Found | null> {
  const row = await told<PlacedRung>(
    asked,
    (matches, madeBefore, bind) => `${ranked(sort, matches, madeBefore)}
     select before, net_minor, created_at::text, id from ranked
     where before <= ${bind(place, 'numeric')} order by n desc limit 1`,
  )
  return row && atRung(asked, sort, row)
}

const atRung = (asked: Asked, sort: RungSort, rung: PlacedRung): Found => ({
  before: BigInt(rung.before),
  conditions(bind) {
    const matches = asked.conditions(without(asked.query, 'total_min'), bind)
    return [`${matches} and ${keyOf(sort, 'p')} >= ${keyOfRung(sort, rung, bind)}`]
  },
})

/**
 * Every rung, how many matching payments it stands for and how many stand before it. Those that are newer than all that is
 * counted stand behind each of their total that is counted: the rung is found by the total alone.
 */
function ranked(sort: RungSort, matches: string, madeBefore: string): string {
  const [first] = RUNG_SORTS[sort]
  const key = RUNG_SORTS[sort].join(', ')
  const rung = 'net_minor, created_at, id'
  return `rungs as materialized (
    select row_number() over (order by ${rung}) as n, ${rung},
      coalesce(sum(p.payments) filter (where ${matches}), 0) as payments
    from payment_rungs p where p.account_id = $1::uuid and p.sort = '${sort}' and exists (select from made) group by ${rung}
  ), newer as (
    select width_bucket(p.${first}, (select array_agg(${first} order by n) from rungs)) as n, count(*) as payments
    from payments p where ${matches} and p.created_at >= ${madeBefore} group by 1
  ), changed as (
    select n, sum(more) as payments from (
      select max(n) over (order by ${key}, n rows unbounded preceding) as n, more from (
        select n, ${key}, 0::bigint as more from rungs
        union all select null, ${key}, p.n from (${CHANGES}) p where ${matches} and p.created_at < ${madeBefore}) both_sorted) placed
    where more <> 0 group by 1
  ), ranked as materialized (
    select n, ${rung}, sum(told) over (order by n) - told as before
    from (select rungs.n, ${rung}, rungs.payments + coalesce(newer.payments, 0) + coalesce(changed.payments, 0) as told
      from rungs left join newer using (n) left join changed using (n)) all_told
  )`
}
