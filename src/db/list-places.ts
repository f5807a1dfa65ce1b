/** What a room may keep counted of its lists: how many match, and where a page begins that is deep inside. */
import type { Queryable } from './database.ts'
import type { Bind, ListQuery } from './list-filters.ts'

/** What a list is asked, for who knows by other means how many that are, and where. */
export interface Asked {
  readonly db: Queryable
  readonly query: ListQuery
  /** What a query's filters mean. The first value that is bound is the account. */
  conditions(query: ListQuery, bind: Bind): string
}

/** No page of the API has more rows. */
export const LIMIT_MAX = 100
/** Behind this many rows from either end, a page begins where the room's counts say: to walk so far takes as long as to ask them. Before it, where a walk was given up. */
export const PLACED_FROM = 10_000n
/** Behind this many, where the list was counted by what also says where its pages begin: a short statement more, or none. */
export const COUNTED_PLACED_FROM = 2_000n

export interface ListPlaces {
  /**
   * How many match, where counters do not tell; null when it is not known either, or walked through as soon.
   *
   * @param isForPage - Where a page of them begins will be asked too.
   */
  count(asked: Asked, isForPage: boolean): Promise<Counted | null>
  /** Where a page begins of a list that `count` did not count. Null when it is not known. */
  begin(asked: Asked, place: Place): Promise<Begin | null>
  /**
   * The query's conditions for a walk to a page, with what they imply of the column that it is sorted by: PostgreSQL cannot know that, and
   * the walk would begin at the list's first. Null where that is nothing.
   */
  conditions(asked: Asked): Promise<Conditions | null>
}

/** What selects rows, in SQL. */
export type Conditions = (bind: Bind) => string

/** Of a row among all that match, in ascending order, from 0. */
export type Place = bigint

export interface Counted {
  readonly total: bigint
  /** Where a page of what was counted begins, if that was asked too. */
  begin?(place: Place): Promise<Begin | null>
}

export interface Begin {
  /** The page's first row is so many rows behind the first that meets the first condition. What meets a later one stands behind all of those. */
  conditions(bind: Bind): readonly string[]
  readonly skip: bigint
}
