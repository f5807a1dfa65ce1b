/**
 * The one mechanism of paged lists: a room describes its list once (which columns it sorts by, what each filter
 * means), and a query that came from outside is turned into SQL. Column names come only from the description, values
 * only travel as parameters, and whatever the description does not know is refused.
 */
import { invalidField, type Refusal } from '../core/errors.ts'
import { type IdPrefix, readId } from '../core/ids.ts'
import { fiatFromNumber } from '../core/money.ts'
import { parseInstant } from '../core/time.ts'
import type { Queryable } from './database.ts'

/** What a list is asked: paging and order, and the list's own filters by name. */
export interface ListQuery {
  readonly page?: number
  readonly limit?: number
  readonly sort?: string
  readonly order?: 'asc' | 'desc'
  readonly [filter: string]: string | number | undefined
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Count of all matches, exact. */
  readonly total: number
  readonly page: number
  readonly limit: number
  readonly totalPages: number
}

/** Adds a value to the statement's parameters and returns its placeholder with the cast, `$3::uuid`. */
export type Bind = (value: unknown, type: string) => string

/** One filter: the value given under its name, and the whole query for filters that come in pairs. */
export type Filter = (given: string | number, bind: Bind, query: ListQuery, name: string) => string

export interface ListDescription {
  /** What to read, `payments p`. */
  readonly from: string
  readonly columns: string
  /** The column that scopes the list to its merchant. */
  readonly account: string
  /** Unique within the account: added to every order, so that pages never overlap. */
  readonly id: string
  readonly sorts: Readonly<Record<string, string>>
  readonly filters: Readonly<Record<string, Filter>>
  /** A condition that always holds, such as `deleted_at is null`. */
  readonly always?: string
}

const PAGING = ['page', 'limit', 'sort', 'order']
const LIMIT_DEFAULT = 25
const LIMIT_MAX = 100

/**
 * Reads one page of an account's list. Newest first unless the query says otherwise.
 *
 * @throws {Refusal} `invalid`, with a detail for the field: unknown sort, order, filter or value, page or limit out of
 *   range.
 */
export async function readPage<Row>(
  db: Queryable,
  description: ListDescription,
  accountId: string,
  query: ListQuery,
): Promise<Page<Row>> {
  const page = wholeNumber(query, 'page', 1, Number.MAX_SAFE_INTEGER)
  const limit = wholeNumber(query, 'limit', LIMIT_DEFAULT, LIMIT_MAX)
  const order = orderBy(description, query)
  const values: unknown[] = []
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`
  const matches = conditions(description, accountId, query, bind)
  const counted = [...values]
  const window = `limit ${bind(limit, 'bigint')} offset ${bind(BigInt(page - 1) * BigInt(limit), 'bigint')}`

  const { rows } = await db.query<Row>(
    `select ${description.columns} from ${description.from} where ${matches} order by ${order} ${window}`,
    values,
  )
  // A first page that is not full has shown everything there is.
  let total = BigInt(rows.length)
  if (page > 1 || rows.length === limit) {
    const count = await db.query<{ total: bigint }>(
      `select count(*) as total from ${description.from} where ${matches}`,
      counted,
    )
    total = count.rows[0]?.total ?? 0n
  }
  const totalPages = (total + BigInt(limit) - 1n) / BigInt(limit)
  return { items: rows, total: Number(total), page, limit, totalPages: Number(totalPages) }
}

function conditions(list: ListDescription, accountId: string, query: ListQuery, bind: Bind): string {
  const all = [`${list.account} = ${bind(accountId, 'uuid')}`, ...(list.always ? [list.always] : [])]
  for (const [name, given] of Object.entries(query)) {
    if (given === undefined || PAGING.includes(name)) continue
    const filter = Object.hasOwn(list.filters, name) ? list.filters[name] : undefined
    if (!filter) throw invalidField(name, 'unknown_parameter', `there is no parameter ${name} here`)
    all.push(filter(given, bind, query, name))
  }
  return all.join(' and ')
}

function orderBy(list: ListDescription, query: ListQuery): string {
  const sort = query.sort ?? 'created_at'
  const column = Object.hasOwn(list.sorts, sort) ? list.sorts[sort] : undefined
  if (!column) throw expected('sort', `one of ${Object.keys(list.sorts).join(', ')}`, sort)
  const order = query.order ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw expected('order', 'asc or desc', order)
  return column === list.id ? `${column} ${order}` : `${column} ${order}, ${list.id} ${order}`
}

function wholeNumber(query: ListQuery, name: 'page' | 'limit', fallback: number, most: number): number {
  const given = query[name] ?? fallback
  if (Number.isInteger(given) && given >= 1 && given <= most) return given
  throw expected(name, `a whole number from 1 to ${most}`, given)
}

const expected = (field: string, what: string, got: string | number): Refusal =>
  invalidField(
    field,
    'invalid_parameter',
    `${field} must be ${what}, got ${JSON.stringify(got).slice(0, 80)}`,
  )

// The kinds of filter.

/** The one row with this id; an id that cannot exist matches nothing. */
export const exactId =
  (prefix: IdPrefix, column: string): Filter =>
  (given, bind) => {
    const id = readId(prefix, String(given))
    return id === null ? 'false' : `${column} = ${bind(id, 'uuid')}`
  }

/** Case-insensitive; `%` and `_` stand for themselves. */
export const substring =
  (column: string): Filter =>
  (given, bind) =>
    `${column} ilike ${bind(`%${String(given).replace(/[\\%_]/g, '\\$&')}%`, 'text')}`

/** A comma-separated list of known words, each standing for the value that the column holds. */
const anyOf = (given: string | number, words: readonly string[], name: string): string[] => {
  const wanted = String(given).split(',')
  const unknown = wanted.find((word) => !words.includes(word))
  if (unknown !== undefined) {
    throw expected(name, `some of ${words.join(', ')}, separated by commas`, unknown)
  }
  return [...new Set(wanted)]
}

/**
 * Rows whose column is one of the words; with `is_not` in the parameter named `operator`, rows whose column is none
 * of them.
 */
export const isOrIsNot =
  (column: string, words: readonly string[], operator: string): Filter =>
  (given, bind, query, name) => {
    const wanted = bind(anyOf(given, words, name), 'text[]')
    return query[operator] === 'is_not' ? `${column} <> all(${wanted})` : `${column} = any(${wanted})`
  }

/** The operator's own parameter: it only has to be one that exists, the filter beside it reads it. */
export const operator: Filter = (given, _bind, _query, name) => {
  if (given !== 'is' && given !== 'is_not') throw expected(name, 'is or is_not', given)
  return 'true'
}

/** `active`, `inactive` or both. */
export const activity =
  (column: string): Filter =>
  (given, bind, _query, name) =>
    `${column} = any(${bind(
      anyOf(given, ['active', 'inactive'], name).map((word) => word === 'active'),
      'boolean[]',
    )})`

/** A bound on minor units, given as a fiat number. */
export const fiatBound =
  (column: string, comparison: '>=' | '<='): Filter =>
  (given, bind, _query, name) => {
    const minor = fiatFromNumber(Number(given))
    if (minor === null) throw expected(name, 'an amount of 0 or more with at most two decimals', given)
    return `${column} ${comparison} ${bind(minor, 'bigint')}`
  }

/** A bound on a whole number. */
export const countBound =
  (column: string, comparison: '>=' | '<='): Filter =>
  (given, bind, _query, name) => {
    const count = Number(given)
    if (!Number.isSafeInteger(count) || count < 0) throw expected(name, 'a whole number of 0 or more', given)
    return `${column} ${comparison} ${bind(count, 'bigint')}`
  }

/** `>=` for on or after, `<` for before. */
export const instantBound =
  (column: string, comparison: '>=' | '<'): Filter =>
  (given, bind, _query, name) => {
    const instant = parseInstant(String(given))
    if (!instant) {
      throw expected(name, 'a date (2026-01-31) or an ISO timestamp (2026-01-31T12:00:00Z)', given)
    }
    return `${column} ${comparison} ${bind(instant, 'timestamptz')}`
  }
