/**
 * A part of a merchant's list of payments that a range of dates, of amounts or both bound, beside what is counted of it
 * (payment-grid.sql.ts). Whole slices of time and whole rungs of amounts within the part are its inside, from the `first` mark to
 * the `last` and from the rung `low` to the rung `high`: counted at its corners. What else lies in the part is at its edges, fewer
 * payments than two slices and two rungs have, beside those that are newer than the last mark.
 */
import { invariant } from '../../core/errors.ts'
import { fiatFromNumber } from '../../core/money.ts'
import { parseInstant } from '../../core/time.ts'
import { type Bind, binding, type ListQuery } from '../../db/list-filters.ts'
import { type Asked, PLACED_FROM } from '../../db/list-places.ts'
import { firstRow } from '../../db/rows.ts'
import { keyOf, keyOfRung, type Rung, rungOf } from './payment-rungs.sql.ts'

export const DATES = ['start_date', 'end_date'] as const
export const AMOUNTS = ['total_min', 'total_max'] as const

/** Of a query, all but these. */
export const without = (query: ListQuery, ...names: readonly string[]): ListQuery =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)))

/** A date that the query gives, bound; null where it gives none. */
export function instantOf(query: ListQuery, name: (typeof DATES)[number], bind: Bind): string | null {
  const given = query[name]
  if (given === undefined) return null
  const instant = parseInstant(String(given))
  invariant(instant, 'what is given was read as a filter')
  return bind(instant, 'timestamptz')
}

/** The whole slices and rungs of a part, as of one turn of the account's count. */
export interface Inside {
  /** The turn: what is read of it is of that one, or nothing. */
  readonly version: string
  readonly generation: number
  /** Marks, from 1; 0 stands before everything. */
  readonly first: number
  readonly last: number
  readonly from: string
  readonly to: string
  /** Rungs, from 1; one more than there are stands behind everything, and has no place. */
  readonly low: number
  readonly high: number
  readonly lowest: Rung
  readonly highest: Rung | null
  /** `last` is the last mark there is. Every rung is older, and what was made later stands behind each of its amount. */
  readonly isUpToNow: boolean
}

/** Fewer are not worth it, whatever their coins and states: with those at the edges they are read as soon. */
const INSIDE_MIN = 2n * PLACED_FROM

/** Null where nothing is counted, or so few. */
export async function findInside({ db, query, conditions }: Asked): Promise<Inside | null> {
  const values: unknown[] = []
  const bind = binding(values)
  conditions({}, bind)
  const time = (name: (typeof DATES)[number]) => instantOf(query, name, bind) ?? bind(null, 'timestamptz')
  const amount = (name: (typeof AMOUNTS)[number]) => {
    const given = query[name]
    if (given === undefined) return bind(null, 'bigint')
    const minor = fiatFromNumber(Number(given))
    invariant(minor !== null, 'what is given was read as a filter')
    return bind(minor, 'bigint')
  }
  const rung = (at: string) => rungOf(`net_minors[${at}]`, `created_ats[${at}]`, `ids[${at}]`)
  return firstRow<Inside>(
    db,
    `select version, generation, first, last, coalesce(marks[first], '-infinity')::text as from, marks[last]::text as to,
       low, high, ${rung('low')} as lowest, case when high <= cardinality(ids) then ${rung('high')} end as highest,
       last = cardinality(marks) as "isUpToNow"
     from (select payment_ranks.xmin::text as version, g.*,
         coalesce(width_bucket(${time('start_date')}, marks) + 1, 0) as first,
         coalesce(width_bucket(${time('end_date')}, marks), cardinality(marks)) as last,
         coalesce(width_bucket(${amount('total_min')} - 1, net_minors) + 1, 1) as low,
         coalesce(width_bucket(${amount('total_max')}, net_minors), cardinality(ids) + 1) as high
       from payment_grids g join payment_ranks using (account_id) where account_id = $1 and is_whole) bounds
     where first < last and low < high and (
       select sum((upto[high - 1] - coalesce(upto[low - 1], 0)) * case mark when last then 1 else -1 end)
       from payment_grid_counts c where account_id = $1 and c.generation = bounds.generation and mark in (first, last)) >= ${INSIDE_MIN}`,
    values,
  )
}

/** Conditions on `p`: a payment, a change of one, or a row of the grid's counts. */
interface Part {
  /** Coins and states. */
  readonly matches: string
  /** Of the part, what was made before the inside, unless that begins with the list; after it. */
  readonly sooner: readonly string[]
  readonly later: string
  /** Of the part, what was made as what is inside, and stands below that; above it. Of several, each is a part of those. */
  readonly lower: readonly string[]
  readonly higher: readonly string[]
  readonly inside: string
  /** A row of counts: how many were made before its mark, of the amounts of the inside. */
  readonly counted: string
  /** A row of the grid or of its counts. */
  readonly ofGrid: string
  /** Whether the account's count is still of the inside's turn. */
  readonly isOfCount: string
  readonly first: string
  readonly last: string
}

/** What is used of it is bound then, as PostgreSQL wants no value that a statement does not name. */
export function conditionsOf({ query, conditions }: Asked, inside: Inside, bind: Bind): Part {
  const { first, last, from, to, low, high, lowest, highest, version, generation } = inside
  // The account is the first of the values.
  conditions({}, bind)
  const isIn = (narrowed: ListQuery = query) => conditions(narrowed, bind)
  const isMadeInside = () =>
    `p.created_at >= ${bind(from, 'timestamptz')} and p.created_at < ${bind(to, 'timestamptz')}`
  const than = (comparison: '<' | '>=', rung: Rung) =>
    `${keyOf('total', 'p')} ${comparison} ${keyOfRung('total', rung, bind)}`
  /**
   * As three ranges of the index, one behind the other: beside a comparison of several columns at once PostgreSQL ends at no other
   * condition, and would read all payments of the amount, or all of the time.
   */
  const beyond = (rung: Rung, side: '<' | '>', within: '<' | '>=') => {
    const [netMinor, createdAt, id] = [
      bind(rung.net_minor, 'bigint'),
      bind(rung.created_at, 'timestamptz'),
      bind(rung.id, 'uuid'),
    ]
    return [
      `p.net_minor = ${netMinor} and p.created_at = ${createdAt} and p.id ${within} ${id}`,
      `p.net_minor = ${netMinor} and p.created_at ${side} ${createdAt}`,
      `p.net_minor ${side} ${netMinor}`,
    ].map((each) => `${isIn()} and ${isMadeInside()} and ${each}`)
  }
  const upto = (rung: number) => `coalesce(p.upto[${bind(rung, 'integer')}], 0)`
  return {
    get matches() {
      return isIn(without(query, ...DATES, ...AMOUNTS))
    },
    get sooner() {
      return first === 0 ? [] : [`${isIn()} and p.created_at < ${bind(from, 'timestamptz')}`]
    },
    get later() {
      return `${isIn()} and p.created_at >= ${bind(to, 'timestamptz')}`
    },
    get lower() {
      return low === 1 ? [] : beyond(lowest, '<', '<')
    },
    get higher() {
      return highest ? beyond(highest, '>', '>=') : []
    },
    get inside() {
      return [
        this.matches,
        isMadeInside(),
        than('>=', lowest),
        ...(highest ? [than('<', highest)] : []),
      ].join(' and ')
    },
    get counted() {
      return `(${upto(high - 1)} - ${upto(low - 1)})`
    },
    get ofGrid() {
      return `account_id = $1 and generation = ${bind(generation, 'integer')}`
    },
    get isOfCount() {
      return `exists (select from payment_ranks where account_id = $1 and xmin = ${bind(version, 'xid')})`
    },
    get first() {
      return bind(first, 'integer')
    },
    get last() {
      return bind(last, 'integer')
    },
  }
}
