/** A part of a list that is sorted by amount. */
import { binding } from '../../db/list-filters.ts'
import type { Asked, Counted } from '../../db/list-places.ts'
import { allRows } from '../../db/rows.ts'
import { conditionsOf, type Inside, without } from './list-part.sql.ts'
import { CHANGES, keyOf, keyOfRung, type Rung, rungOf } from './payment-rungs.sql.ts'

interface CountedRung {
  /** 0 for what stands before the lowest. */
  readonly rung: number
  /** A {@link Rung}, as JSON. */
  readonly begin: string | null
  /** Of the inside, on this rung and those before it. */
  readonly upto: bigint
  /** At the edges and of what changed, on this rung. */
  readonly more: bigint
}

/**
 * Those that are newer than all that is counted stand behind each of their amount: the rung is found by the amount alone. To sort them with
 * the rungs would take as long as all else. Of 37,000, most of one amount, it takes 16 to 20 ms, and as much with each amount looked for
 * once; of 24,000 of different amounts 12 ms instead of 35.
 */
const newerByRung = (later: string, low: string): string =>
  `select coalesce(nullif(width_bucket(p.net_minor, (select array_agg(net_minor order by rung) from rungs)), 0) + ${low} - 1, 0), count(*)
   from payments p where ${later} group by 1`

/** Null where another count came between. */
export async function countByAmount(asked: Asked, inside: Inside): Promise<Counted | null> {
  const values: unknown[] = []
  const bind = binding(values)
  const part = conditionsOf(asked, inside, bind)
  const { matches, isOfCount, first, last } = part
  const [low, high] = [bind(inside.low, 'integer'), bind(inside.high, 'integer')]
  const key = 'p.net_minor, p.created_at, p.id'
  const sorted = [...part.sooner, ...(inside.isUpToNow ? [] : [part.later])]
  const count = (rung: string, where: readonly string[]) =>
    where.map((each) => `union all select ${rung}, count(*) from payments p where ${each}`).join(' ')
  const rows = await allRows<CountedRung>(
    asked.db,
    `with rungs as materialized (
       select n::integer as rung, net_minor, created_at, id
       from payment_grids, unnest(net_minors, created_ats, ids) with ordinality each (net_minor, created_at, id, n)
       where ${part.ofGrid} and n between ${low} and ${high}
     ), placed as (
       select max(rung) over (order by net_minor, created_at, id, rung rows unbounded preceding) as rung, n from (
         select rung, net_minor, created_at, id, 0::bigint as n from rungs
         ${sorted.map((where) => `union all select null, ${key}, 1 from payments p where ${where}`).join(' ')}
         union all select null, ${key}, p.n from (${CHANGES}) p where ${part.inside}
       ) both_sorted
     ), more as (
       select coalesce(rung, 0) as rung, sum(n)::bigint as n from placed where n <> 0 group by 1
       ${inside.isUpToNow ? `union all ${newerByRung(part.later, low)}` : ''}
       ${count('0', part.lower)}
       ${count(high, part.higher)}
     ), whole as (
       select ${low} + at::integer - 1 as rung, sum((upto - before) * sign)::bigint as upto
       from (select p.upto[${low}:${high} - 1] as uptos, coalesce(p.upto[${low} - 1], 0) as before,
           case p.mark when ${last} then 1 else -1 end as sign
         from payment_grid_counts p where ${matches} and ${part.ofGrid} and p.mark in (${first}, ${last})) corners
       cross join lateral unnest(uptos) with ordinality each (upto, at) group by 1
     )
     select rung, max(begin) as begin, coalesce(max(upto), 0) as upto, sum(n)::bigint as more from (
       select rung, ${rungOf('net_minor', 'created_at', 'id')}::text as begin, null::bigint as upto, 0 as n from rungs
       union all select each, null, null, 0 from unnest(array[0, ${high}]) each
       union all select rung, null, upto, 0 from whole
       union all select rung, null, null, n from more
     ) told
     where ${isOfCount} group by rung order by rung`,
    values,
  )
  if (rows.length === 0) return null
  const begins: { readonly rung: Rung; readonly before: bigint }[] = []
  let total = 0n
  let inner = 0n
  for (const { rung, begin, upto, more } of rows) {
    if (begin) begins.push({ rung: JSON.parse(begin), before: total })
    total += more
    if (rung < inside.low || rung >= inside.high) continue
    total += upto - inner
    inner = upto
  }
  return {
    total,
    async begin(place) {
      const found = begins.findLast(({ before }) => before <= place)
      return {
        skip: place - (found?.before ?? 0n),
        conditions(bind) {
          if (!found) return [asked.conditions(asked.query, bind)]
          const isIn = asked.conditions(without(asked.query, 'total_min'), bind)
          return [`${isIn} and ${keyOf('total', 'p')} >= ${keyOfRung('total', found.rung, bind)}`]
        },
      }
    },
  }
}
