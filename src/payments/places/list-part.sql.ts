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
import type { Asked } from '../../db/list-places.ts'
import { firstRow } from '../../db/rows.ts'
import { keyOf, keyOfRung, type Rung, rungOf } from './payment-rungs.sql.ts'

export const DATES = ['start_date', 'end_date'] as const
export const AMOUNTS = ['total_min', 'total_max'] as const

/** Of a query, all but these. */
export const without = (query: ListQuery, ...names: readonly string[]): ListQuery =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)))

/** The whole slices and rungs of a part, as of one count of the account. */
export interface Inside {
  /** The moment of the count: what is read of it is of that one, or nothing. */
  readonly version: string
  /** Marks, from 1; 0 stands before everything, one more than there are behind everything. */
  readonly first: number
  readonly last: number
  readonly from: string
  readonly to: string
  /** Rungs, from 1; one more than there are stands behind everything. */
  readonly low: number
  readonly high: number
  readonly lowest: Rung | null
  readonly highest: Rung | null
  /** Of whatever coin and state. */
  readonly payments: bigint
  /** `last` is the last mark there is. Every rung is older, and what was made later stands behind each of its amount. */
  readonly isUpToNow: boolean
}

export async function findInside({ db, query, conditions }: Asked): Promise<Inside | null> {
  const values: unknown[] = []
  const bind = binding(values)
  conditions({}, bind)
  const time = (name: (typeof DATES)[number]) => {
    const given = query[name]
    return bind(given === undefined ? null : parseInstant(String(given)), 'timestamptz')
  }
  const amount = (name: (typeof AMOUNTS)[number]) => {
    const given = query[name]
    if (given === undefined) return bind(null, 'bigint')
    const minor = fiatFromNumber(Number(given))
    invariant(minor !== null, 'what is given was read as a filter')
    return bind(minor, 'bigint')
  }
  const rung = (at: string) =>
    `case when ${at} <= cardinality(ids) then ${rungOf(`net_minors[${at}]`, `created_ats[${at}]`, `ids[${at}]`)} end`
  const mark = (at: string) =>
    `case when ${at} = 0 then '-infinity' when ${at} > cardinality(marks) then 'infinity' else marks[${at}]::text end`
  return firstRow<Inside>(
    db,
    `select version, first, last, ${mark('first')} as from, ${mark('last')} as to,
       low, high, ${rung('low')} as lowest, ${rung('high')} as highest,
       (select coalesce(sum((coalesce(upto[high - 1], 0) - coalesce(upto[low - 1], 0)) * case mark when last then 1 else -1 end), 0)::bigint
        from payment_grid_counts where account_id = $1 and mark in (first, last) and first <> last) as payments,
       last >= cardinality(marks) as "isUpToNow"
     from (select made_before::text as version, g.*,
         coalesce(width_bucket(${time('start_date')}, marks) + 1, 0) as first,
         coalesce(width_bucket(${time('end_date')}, marks), cardinality(marks)) as before,
         coalesce(width_bucket(${amount('total_min')} - 1, net_minors) + 1, 1) as low,
         coalesce(width_bucket(${amount('total_max')}, net_minors), cardinality(ids) + 1) as below
       from payment_grids g join payment_ranks using (account_id) where account_id = $1 and is_whole) bounds
     cross join lateral (select greatest(first, before) as last, greatest(low, below) as high) ends`,
    values,
  )
}

/** Conditions on `p`: a payment, a change of one, or a row of the grid's counts. */
interface Part {
  /** Coins and states. */
  readonly matches: string
  /** Of the part, what was made before the inside; after it. */
  readonly sooner: string
  readonly later: string
  /** Of the part, what stands below the inside and above it, and was made as what is in it. Null where nothing can. */
  readonly lower: string | null
  readonly higher: string | null
  readonly inside: string
  /** A row of counts: how many were made before its mark, of the amounts of the inside. */
  readonly counted: string
  /** Whether the account's count is still that of the inside. */
  readonly isOfCount: string
  readonly first: string
  readonly last: string
}

/** What is used of it is bound then, as PostgreSQL wants no value that a statement does not name. The first is the account. */
export function partOf({ query, conditions }: Asked, inside: Inside, bind: Bind): Part {
  const { first, last, from, to, low, high, lowest, highest, version } = inside
  const isIn = (narrowed: ListQuery = query) => conditions(narrowed, bind)
  const isMadeInside = () =>
    `p.created_at >= ${bind(from, 'timestamptz')} and p.created_at < ${bind(to, 'timestamptz')}`
  // The amount alone says it once more: by it PostgreSQL sees how few they are.
  const than = (comparison: '<' | '>=', rung: Rung) =>
    `p.net_minor ${comparison === '<' ? '<=' : '>='} ${bind(rung.net_minor, 'bigint')} and ${keyOf('total', 'p')} ${comparison} ${keyOfRung('total', rung, bind)}`
  const upto = (rung: number) => `coalesce(p.upto[${bind(rung, 'integer')}], 0)`
  return {
    get matches() {
      return isIn(without(query, ...DATES, ...AMOUNTS))
    },
    get sooner() {
      return `${isIn()} and p.created_at < ${bind(from, 'timestamptz')}`
    },
    get later() {
      return `${isIn()} and p.created_at >= ${bind(to, 'timestamptz')}`
    },
    get lower() {
      if (low === 1) return null
      if (!lowest) return `${isIn()} and ${isMadeInside()}`
      // Of two conditions at one end, PostgreSQL would begin at either.
      return `${isIn(without(query, 'total_max'))} and ${isMadeInside()} and ${than('<', lowest)}`
    },
    get higher() {
      return (
        highest && `${isIn(without(query, 'total_min'))} and ${isMadeInside()} and ${than('>=', highest)}`
      )
    },
    get inside() {
      if (low > 1 && !lowest) return 'false'
      return [this.matches, isMadeInside(), lowest && than('>=', lowest), highest && than('<', highest)]
        .filter((each) => each !== null)
        .join(' and ')
    },
    get counted() {
      return `(${upto(high - 1)} - ${upto(low - 1)})`
    },
    get isOfCount() {
      return `exists (select from payment_ranks where account_id = $1 and made_before = ${bind(version, 'timestamptz')})`
    },
    get first() {
      return bind(first, 'integer')
    },
    get last() {
      return bind(last, 'integer')
    },
  }
}
