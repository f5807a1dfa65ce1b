/**
 * Where a page deep inside of a merchant's payments begins, and how many lie in a part that ranges bound, by what is kept counted of
 * them (payment-ranks.sql.ts) and by each payment that is newer. It is told for filters of coin and status, and for ranges of dates
 * and amounts; with any other, null.
 */
import { type Bind, binding, filtersOf, type ListQuery } from '../../db/list-filters.ts'
import {
  type Asked,
  type Begin,
  type Counted,
  LIMIT_MAX,
  type ListPlaces,
  type Place,
} from '../../db/list-places.ts'
import { firstRow } from '../../db/rows.ts'
import { AMOUNTS, DATES, findInside, type Inside, without } from './list-part.sql.ts'
import { countByAmount } from './part-by-amount.sql.ts'
import { conditionsByIds } from './part-by-id.sql.ts'
import { countByTime } from './part-by-time.sql.ts'
import { countTotal } from './part-total.sql.ts'
import { CHANGES, keyOf, keyOfRung, RUNG_SORTS, type Rung, type RungSort } from './payment-rungs.sql.ts'

const WORDS = ['filter_asset', 'filter_asset_op', 'filter_status', 'filter_status_op']
export const PAYMENT_PLACES: ListPlaces = {
  count: async (asked, isForPage) =>
    isOf(asked.query, [...WORDS, ...DATES, ...AMOUNTS]) ? countPart(asked, isForPage) : null,

  async begin(asked, place) {
    if (!isOf(asked.query, WORDS)) return null
    const sort = asked.query.sort ?? 'created_at'
    const found = await (sort === 'total' || sort === 'id'
      ? findRung(asked, sort, place)
      : findDay(asked, sort, place))
    return found && { skip: place - found.before, conditions: found.conditions }
  },

  conditions: conditionsByIds,
}

const isOf = (query: ListQuery, filters: readonly string[]): boolean =>
  filtersOf(query).every((name) => filters.includes(name))

/** Taken anew where a count comes between it and what is asked of it. */
const TRIES = 3

/** Null where it is not known, or walked through as soon. A count that comes before its page is found makes one more. */
async function countPart(asked: Asked, isForPage: boolean): Promise<Counted | null> {
  if (!isForPage) return countOfOneTurn(asked, countTotal)
  const count = asked.query.sort === 'total' ? countByAmount : countByTime
  const again = async (place: Place) => (await countOfOneTurn(asked, count))?.begin?.(place) ?? null
  const counted = await countOfOneTurn(asked, count)
  return counted && { ...counted, begin: async (place) => (await counted.begin?.(place)) ?? again(place) }
}

async function countOfOneTurn(
  asked: Asked,
  count: (asked: Asked, inside: Inside) => Promise<Counted | null>,
): Promise<Counted | null> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const inside = await findInside(asked)
    if (!inside) return null
    const counted = await count(asked, inside)
    if (counted) return counted
  }
  return null
}

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
    const matches = conditions(query, bind)
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
        return [`${asked.conditions(query, bind)} and p.created_at >= ${bind(row.at, 'timestamptz')}`]
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
    return [
      `${asked.conditions(asked.query, bind)} and ${keyOf(sort, 'p')} >= ${keyOfRung(sort, rung, bind)}`,
    ]
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
