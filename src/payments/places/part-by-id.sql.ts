/**
 * Payments of a range of dates, or of another part of a list, that are sorted by id. An id begins with the milliseconds of its making,
 * by the clock of who made it, and is less than {@link APART_MS} from its payment's time. Those of which it is not are in an index of their
 * own (`payments_untimely`), and counted one by one.
 */

import { leastIdAt } from '../../db/least-id.ts'
import { type Bind, binding } from '../../db/list-filters.ts'
import type { Asked, Begin, Conditions, Place } from '../../db/list-places.ts'
import { firstRow, oneRow } from '../../db/rows.ts'
import { DATES, instantOf, without } from './list-part.sql.ts'

/** As `payments_untimely` has it. */
const APART_MS = 10_000
const APART = `interval '${APART_MS} milliseconds'`
const IS_UNTIMELY = `id_skew_ms(p.id, p.created_at) >= ${APART_MS}`
/**
 * What is in a range of dates, by the ids that it lies between, for a list that is sorted by them. Null for any other list, and where
 * there are other ids: then it is walked through from its first.
 */
export async function conditionsByIds({ db, query, conditions }: Asked): Promise<Conditions | null> {
  if (query.sort !== 'id') return null
  const values: unknown[] = []
  const bind = binding(values)
  const isIn = conditions(
    Object.fromEntries(DATES.filter((name) => query[name] !== undefined).map((name) => [name, query[name]])),
    bind,
  )
  const [start, end] = [instantOf(query, 'start_date', bind), instantOf(query, 'end_date', bind)]
  if (start === null && end === null) return null
  const [first, last] = [
    start ? leastIdAt(`${start} - ${APART}`) : 'null::uuid',
    end ? leastIdAt(`${end} + ${APART}`) : 'null::uuid',
  ]
  const ids = await firstRow<{ first: string | null; last: string | null }>(
    db,
    `select ${first} as first, ${last} as last
     where not exists (select from payments p where ${isIn} and ${IS_UNTIMELY} and (p.id < ${first} or p.id >= ${last}))`,
    values,
  )
  return (
    ids &&
    ((bound) => {
      const matches = [conditions(without(query, ...DATES), bound)]
      const [from, to] = [instantOf(query, 'start_date', bound), instantOf(query, 'end_date', bound)]
      // By the index of times PostgreSQL would read the whole range, to sort it.
      if (from) matches.push(`(p.created_at >= ${from}) is true and p.id >= ${bound(ids.first, 'uuid')}`)
      if (to) matches.push(`(p.created_at < ${to}) is true and p.id < ${bound(ids.last, 'uuid')}`)
      return matches.join(' and ')
    })
  )
}

/**
 * Where a page of a part begins, from a mark of time that so many of the part are made before. Null where nothing says that.
 *
 * @param mark - Null at the part's beginning.
 */
export async function beginById(
  asked: Asked,
  mark: { readonly at: string | null; readonly before: bigint },
  place: Place,
): Promise<Begin | null> {
  const ofDates = await conditionsByIds(asked)
  const isIn = (bind: Bind) => ofDates?.(bind) ?? asked.conditions(asked.query, bind)
  const values: unknown[] = []
  const bind = binding(values)
  const matches = asked.conditions(asked.query, bind)
  const at = mark.at === null ? instantOf(asked.query, 'start_date', bind) : bind(mark.at, 'timestamptz')
  // Without a start, the part begins with the list.
  if (at === null) return { skip: place, conditions: (bound) => [isIn(bound)] }
  // Of what tells its time, all that is made at the mark or after it has its id behind the first.
  const found = await oneRow<{ first: string; behind: bigint; before: bigint }>(
    asked.db,
    `with begun as (select ${leastIdAt(`${at} - ${APART}`)} as first), near as materialized (
       select p.id from payments p where ${matches} and p.created_at < ${at} and p.created_at >= ${at} - 2 * ${APART}
     ), untimely as materialized (select p.id, p.created_at from payments p where ${matches} and ${IS_UNTIMELY})
     select first::text,
       (select count(*) from near where id >= first)
         + (select count(*) from untimely where created_at < ${at} - 2 * ${APART} and id >= first) as behind,
       (select count(*) from untimely where created_at >= ${at} and id < first) as before
     from begun`,
    values,
  )
  const skip = place - mark.before + found.behind - found.before
  if (skip < 0n) return null
  return {
    skip,
    conditions: (bound) => [`${isIn(bound)} and p.id >= ${bound(found.first, 'uuid')}`],
  }
}
