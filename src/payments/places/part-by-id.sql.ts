/**
 * Payments of a range of dates, or of another part of a list, that are sorted by id. An id is as old as its payment, but for what the
 * clocks of who made both may differ (payment-ids.sql.ts): what ids say of a time is right beside so much of it.
 */
import { invariant } from '../../core/errors.ts'
import { parseInstant } from '../../core/time.ts'
import { type Bind, binding, type ListQuery } from '../../db/list-filters.ts'
import type { Asked, Begin, Conditions, Place } from '../../db/list-places.ts'
import { firstRow } from '../../db/rows.ts'
import { DATES, without } from './list-part.sql.ts'
import { leastIdAt, SKEW } from './payment-ids.sql.ts'

/**
 * What is in a range of dates, by the ids that it lies between. Null where nothing says that: then the list is walked through from its
 * first, or all of the range is read and sorted.
 */
export async function walkByIds({ db, query, conditions }: Asked): Promise<Conditions | null> {
  if (query.sort !== 'id') return null
  const values: unknown[] = []
  const bind = binding(values)
  conditions({}, bind)
  const [start, end] = [instantOf(query, 'start_date', bind), instantOf(query, 'end_date', bind)]
  if (start === null && end === null) return null
  // Of what is newer, whose skew nobody noted, each is looked at; "is true" keeps PostgreSQL from an index where it would read more.
  const newer = 'select from payments p where p.account_id = $1::uuid and p.created_at >= made_before'
  const ids = await firstRow<{ first: string | null; end: string | null }>(
    db,
    `with bounds as materialized (
       select made_before, ${start ? leastIdAt(start, 'skew') : 'null::uuid'} as first,
         ${end ? leastIdAt(end, '-skew') : 'null::uuid'} as end
       from (${SKEW}) skewed)
     select first::text, "end"::text from bounds
     where not exists (${newer} and ${start ? `p.created_at >= ${start} and (p.id < first) is true` : 'false'})
       and not exists (${newer} and ${end ? `p.created_at < ${end} and (p.id >= "end") is true` : 'false'})`,
    values,
  )
  return (
    ids &&
    ((bound) => {
      const matches = [conditions(without(query, ...DATES), bound)]
      const [from, to] = [instantOf(query, 'start_date', bound), instantOf(query, 'end_date', bound)]
      if (from) matches.push(`(p.created_at >= ${from}) is true and p.id >= ${bound(ids.first, 'uuid')}`)
      if (to) matches.push(`(p.created_at < ${to}) is true and p.id < ${bound(ids.end, 'uuid')}`)
      return matches.join(' and ')
    })
  )
}

function instantOf(query: ListQuery, name: 'start_date' | 'end_date', bind: Bind): string | null {
  const given = query[name]
  if (given === undefined) return null
  const instant = parseInstant(String(given))
  invariant(instant, 'what is given was read as a filter')
  return bind(instant, 'timestamptz')
}

/**
 * Where a page of a part begins, from a mark of time that so many of the part are made before. Null where nothing says that.
 *
 * @param mark - Null at the part's first payment.
 */
export async function beginById(
  asked: Asked,
  mark: { readonly at: string | null; readonly before: bigint },
  place: Place,
): Promise<Begin | null> {
  const ofDates = await walkByIds(asked)
  const isIn = (bind: Bind) => ofDates?.(bind) ?? asked.conditions(asked.query, bind)
  if (mark.at === null) return ofDates && { skip: place, conditions: (bind) => [isIn(bind)] }
  const values: unknown[] = []
  const bind = binding(values)
  const matches = asked.conditions(asked.query, bind)
  const at = bind(mark.at, 'timestamptz')
  const found = await firstRow<{ id: string; behind: bigint }>(
    asked.db,
    `with skewed as materialized (select made_before, skew, ${leastIdAt(at, 'skew')} as first from (${SKEW}) known)
     select first::text as id, (
       select count(*) from payments p where ${matches} and p.created_at < ${at}
         and p.created_at >= ${at} - skew * interval '2 milliseconds' and (p.id >= first) is true) as behind
     from skewed where not exists (
       select from payments p where p.account_id = $1::uuid and p.created_at >= ${at} and p.created_at >= made_before
         and (p.id < first) is true)`,
    values,
  )
  return (
    found && {
      skip: place - mark.before + found.behind,
      conditions: (bound) => [`${isIn(bound)} and p.id >= ${bound(found.id, 'uuid')}`],
    }
  )
}
