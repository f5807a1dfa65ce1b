/** What a list of the dashboard is asked, as it stands in the URL. */
import type { Refusal } from '../../core/errors.ts'
import { expected, type ListQuery } from '../../db/list-filters.ts'
import { inWords } from './form-problem.ts'
import { type ListCall, zoneOf } from './row.ts'
import { readTypedNumber } from './typed-price.ts'
import { dayAfter, startOfDay } from './words.ts'

interface TypedFilter {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number'
}
interface ChoiceFilter extends Omit<TypedFilter, 'kind'> {
  readonly kind: 'choice'
  readonly choices: readonly (readonly [string, string])[]
  /** What none of them means; `Any` when left out. */
  readonly any?: string
}
export type Filter = TypedFilter | ChoiceFilter

/** A filter by one of some words, shown as they are. */
export const choiceOf = (name: string, label: string, words: readonly string[]): ChoiceFilter => ({
  name,
  label,
  kind: 'choice',
  choices: words.map((word) => [word, word]),
})

/** What of the URL does not describe the list: the page, and what a redirect left. */
const NOT_FILTERS = ['page', 'done', 'format', 'name']
export const PAGING = ['sort', 'order']
/** Days that every list with times is bounded by. */
export const BOUNDS = [
  { name: 'from', label: 'From' },
  { name: 'to', label: 'To, that day included' },
] as const
/** Which columns show, by their names with commas between. */
export const COLUMNS = 'columns'

/** Why a query cannot be read, with the labels of its filters. */
export const problemOf = ({ message, details }: Refusal, filters: readonly Filter[]): string => {
  const [detail] = details
  const filter = [...filters, ...BOUNDS].find(({ name }) => name === detail?.field)
  return filter ? inWords(message, filter.name, filter.label) : message
}

/**
 * The query of `db/list.ts` for what stands in the URL. Values of its filters are left to the list to refuse.
 *
 * @throws {Refusal} `invalid` for a bound that is no day: an export without it would have more than was asked for.
 */
export function listQuery(call: ListCall, filters: readonly Filter[]): ListQuery {
  const zone = zoneOf(call)
  const query: Record<string, string | number> = {}
  for (const { name, kind } of filters) {
    const given = call.query[name]
    if (given) query[name] = kind === 'number' ? (readTypedNumber(given) ?? given) : given
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

/**
 * The filters, order and columns of a list as they are kept and sent to a colleague.
 *
 * @param without - What is left out.
 */
export const filterQuery = (call: ListCall, without: readonly string[] = []): string =>
  new URLSearchParams(
    Object.entries(call.query).filter(
      ([name, value]) => value && !NOT_FILTERS.includes(name) && !without.includes(name),
    ),
  ).toString()
