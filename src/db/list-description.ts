/**
 * What a list is of: which columns it sorts by, what each filter means; and what a query that came from outside is in SQL then. Column
 * names come only from the description, values only travel as parameters, and whatever the description does not know is refused.
 */
import { invalidField } from '../core/errors.ts'
import type { AccountId } from '../core/ids.ts'
import { type Bind, expected, type Filter, filtersOf, instantBound, type ListQuery } from './list-filters.ts'
import type { ListPlaces } from './list-places.ts'

export interface ListDescription extends Description {
  /** The column that scopes the list to its merchant. */
  readonly account: string
}

/** A list of all merchants' rows, for whoever runs the whole Beck and nobody else. Its pages are never found by their ids first. */
export interface WholeList extends Omit<Description, 'places' | 'counters'> {
  readonly account: null
}

export interface Description {
  /** What to read, `payments p`. */
  readonly from: string
  readonly columns: string
  /** Unique within the account. */
  readonly id: string
  readonly sorts: Readonly<Record<string, string>> & { readonly created_at: string }
  /** Sorts by which no two rows of an account are alike, beside the id. */
  readonly distinct?: readonly string[]
  /** Beside `start_date` (created on or after) and `end_date` (created before), which every list has by what it sorts by. */
  readonly filters: Readonly<Record<string, Filter>>
  /** What the filter of the same name implies, added only where rows are read: it spares looking at the rest of them. */
  readonly hints?: Readonly<Record<string, Filter>>
  /** A condition that always holds, such as `deleted_at is null`. */
  readonly always?: string
  /** Where nothing tells the total, it is counted up to here and no further. */
  readonly countedMax?: bigint
  /** Kept beside the rows, under the same alias: their sum is the total when no other filter is given. */
  readonly counters?: Counters
  /** What the room keeps counted of its lists. */
  readonly places?: ListPlaces
}

interface Counters {
  readonly from: string
  readonly count: string
  readonly filters: readonly string[]
}

/** How far lists are counted that people look at: they want to know whether it is many. */
export const COUNTED_MAX = 10_000n

export function conditions(
  list: ListDescription | WholeList,
  accountId: AccountId | null,
  query: ListQuery,
  bind: Bind,
): string {
  const all = [
    list.account === null ? 'true' : `${list.account} = ${bind(accountId, 'uuid')}`,
    ...(list.always ? [list.always] : []),
  ]
  const filters = new Map([
    ['start_date', instantBound(list.sorts.created_at, '>=')],
    ['end_date', instantBound(list.sorts.created_at, '<')],
    ...Object.entries(list.filters),
  ])
  for (const name of filtersOf(query)) {
    const given = query[name]
    if (given === undefined) continue
    const filter = filters.get(name)
    if (!filter) throw invalidField(name, 'unknown_parameter', `there is no parameter ${name} here`)
    all.push(filter(given, bind, query, name))
  }
  return all.join(' and ')
}

export function hints(list: Description, query: ListQuery, bind: Bind): string[] {
  return Object.entries(list.hints ?? {}).flatMap(([name, hint]) => {
    const given = query[name]
    return given === undefined ? [] : [hint(given, bind, query, name)]
  })
}

export type Ordered = readonly [column: string, direction: 'asc' | 'desc']

export function orderBy(list: Description, query: ListQuery): Ordered[] {
  const sort = query.sort ?? 'created_at'
  const column = Object.hasOwn(list.sorts, sort) ? list.sorts[sort] : undefined
  if (!column) throw expected('sort', `one of ${Object.keys(list.sorts).join(', ')}`, sort)
  const order = query.order ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw expected('order', 'asc or desc', order)
  const { id, sorts, distinct } = list
  // Equals stand by age; the id alone makes the order total, so that pages never overlap.
  const columns =
    column === id || distinct?.includes(sort) ? [column] : [...new Set([column, sorts.created_at, id])]
  return columns.map((each) => [each, order])
}

export const written = (columns: readonly Ordered[]): string =>
  columns.map((each) => each.join(' ')).join(', ')

export const reversed = ([column, direction]: Ordered): Ordered => [
  column,
  direction === 'asc' ? 'desc' : 'asc',
]
