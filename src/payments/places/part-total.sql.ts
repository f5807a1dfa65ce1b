/** How many lie in a part of a list, for a page that needs no place (docs/decisions/0081-ranks.md). */
import { binding } from '../../db/list-filters.ts'
import type { Asked } from '../../db/list-places.ts'
import { firstRow } from '../../db/rows.ts'
import { conditionsOf, type Inside } from './list-part.sql.ts'
import { CHANGES } from './payment-rungs.sql.ts'

/** By the corners of the inside, and one by one at the edges. Null where another count came between. */
export async function countTotal(asked: Asked, inside: Inside): Promise<{ readonly total: bigint } | null> {
  const values: unknown[] = []
  const part = conditionsOf(asked, inside, binding(values))
  const { counted, first, last } = part
  const edges = [...part.sooner, part.later, ...part.lower, ...part.higher]
  return firstRow<{ total: bigint }>(
    asked.db,
    `select sum(n)::bigint as total from (
       select ${counted} * case p.mark when ${last} then 1 else -1 end as n from payment_grid_counts p
         where ${part.matches} and ${part.ofGrid} and p.mark in (${first}, ${last})
       ${edges.map((where) => `union all select count(*) from payments p where ${where}`).join(' ')}
       union all select p.n from (${CHANGES}) p where ${part.inside}
     ) told where ${part.isOfCount} having count(*) > 0`,
    values,
  )
}
