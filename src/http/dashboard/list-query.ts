/** What a list of the dashboard is asked, as it stands in the URL. */
import { expected, type ListQuery } from '../../db/list-filters.ts'
import type { PlaceCall } from './row.ts'
import { dayAfter, startOfDay } from './words.ts'

export type Filter =
  | { readonly name: string; readonly label: string; readonly kind: 'text' | 'number' }
  | {
      readonly name: string
      readonly label: string
      readonly kind: 'choice'
      readonly choices: readonly (readonly [string, string])[]
    }

/** What of the URL does not describe the list: the page, and what a redirect left. */
const NOT_FILTERS = ['page', 'done', 'format', 'name']
export const PAGING = ['sort', 'order']

/**
 * The query of `db/list.ts` for what stands in the URL. Values of its filters are left to the list to refuse.
 *
 * @throws {Refusal} `invalid` for a bound that is no day: an export without it would have more than was asked for.
 */
export function listQuery(call: PlaceCall, filters: readonly Filter[]): ListQuery {
  const zone = call.place.membership.timeZone
  const query: Record<string, string | number> = {}
  for (const { name, kind } of filters) {
    const given = call.query[name]
    if (given) query[name] = kind === 'number' ? Number(given) : given
  }
  const { from, to } = call.query
  if (from) query.start_date = boundOf('from', from, startOfDay(from, zone))
  if (to) query.end_date = boundOf('to', to, startOfDay(to, zone) && startOfDay(dayAfter(to), zone))
  for (const name of PAGING) if (call.query[name]) query[name] = call.query[name] ?? ''
  return query
}

function boundOf(name: 'from' | 'to', given: string, instant: Date | null): string {
  if (instant) return instant.toISOString()
  throw expected(name, 'a day such as 2026-01-31', given)
}

/** The filters and order of a list as they are kept, sent to a colleague and exported. */
export const filterQuery = (call: PlaceCall): string =>
  new URLSearchParams(
    Object.entries(call.query).filter(([name, value]) => value && !NOT_FILTERS.includes(name)),
  ).toString()
