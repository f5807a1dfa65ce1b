/** What a list of the dashboard is asked, as it stands in the URL. */
import type { ListQuery } from '../../db/list-filters.ts'
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

/** The query of `db/list.ts` for what stands in the URL. Names that the list does not know are left to it to refuse. */
export function listQuery(call: PlaceCall, filters: readonly Filter[]): ListQuery {
  const zone = call.place.membership.timeZone
  const query: Record<string, string | number> = {}
  for (const { name, kind } of filters) {
    const given = call.query[name]
    if (given) query[name] = kind === 'number' ? Number(given) : given
  }
  const from = call.query.from && startOfDay(call.query.from, zone)
  const to = call.query.to && startOfDay(dayAfter(call.query.to), zone)
  if (from) query.start_date = from.toISOString()
  if (to) query.end_date = to.toISOString()
  for (const name of PAGING) if (call.query[name]) query[name] = call.query[name] ?? ''
  return query
}

/** The filters and order of a list as they are kept, sent to a colleague and exported. */
export const filterQuery = (call: PlaceCall): string =>
  new URLSearchParams(
    Object.entries(call.query).filter(([name, value]) => value && !NOT_FILTERS.includes(name)),
  ).toString()
