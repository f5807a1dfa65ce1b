/** What the filters of lists mean: each makes of the value it was given a condition on one column. */
import { invalidField, type Refusal } from '../core/errors.ts'
import { type IdPrefix, readId } from '../core/ids.ts'
import { fiatFromNumber } from '../core/money.ts'
import { parseInstant } from '../core/time.ts'

/** What a list is asked: paging and order, and the list's own filters by name. */
export interface ListQuery {
  readonly page?: number
  readonly limit?: number
  readonly sort?: string
  readonly order?: 'asc' | 'desc'
  readonly [filter: string]: string | number | undefined
}

const PAGING = ['page', 'limit', 'sort', 'order']

/** The names of what is filtered by. */
export const filtersOf = (query: ListQuery): string[] =>
  Object.keys(query).filter((name) => query[name] !== undefined && !PAGING.includes(name))

/** Adds a value to the statement's parameters and returns its placeholder with the cast, `$3::uuid`. */
export type Bind = (value: unknown, type: string) => string

export const binding =
  (values: unknown[]): Bind =>
  (value, type) =>
    `$${values.push(value)}::${type}`

/** One filter: the value given under its name, and the whole query for filters that come in pairs. */
export type Filter = (given: string | number, bind: Bind, query: ListQuery, name: string) => string

/** The one row with this id; an id that cannot exist matches nothing. */
export const exactId =
  (prefix: IdPrefix, column: string): Filter =>
  (given, bind) => {
    const id = readId(prefix, String(given))
    return id === null ? 'false' : `${column} = ${bind(id, 'uuid')}`
  }

/** Rows whose column is this text, to the letter. */
export const exactText =
  (column: string): Filter =>
  (given, bind) =>
    `${column} = ${bind(String(given), 'text')}`

/** A pattern for {@link hasPart}: the text as a part, `%` and `_` standing for themselves. */
export const partOf = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** Case-insensitive, in half the time of `ilike`, which folds more slowly than `lower`. @param pattern - The parameter. */
export const hasPart = (column: string, pattern: string): string => `lower(${column}) like lower(${pattern})`

/** Rows whose column has this text as a part, in whatever case. */
export const substring =
  (column: string): Filter =>
  (given, bind) =>
    hasPart(column, bind(partOf(String(given)), 'text'))

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
    const wanted = anyOf(given, words, name)
    const isNot = query[operator] === 'is_not'
    // One word is compared plainly, so that an index by it can also give the order.
    const [only, ...more] = wanted
    if (more.length === 0) return `${column} ${isNot ? '<>' : '='} ${bind(only, 'text')}`
    return isNot
      ? `${column} <> all(${bind(wanted, 'text[]')})`
      : `${column} = any(${bind(wanted, 'text[]')})`
  }

/** The operator's own parameter: it only has to be one that exists, the filter beside it reads it. */
export const operator: Filter = (given, _bind, _query, name) => {
  if (given !== 'is' && given !== 'is_not') throw expected(name, 'is or is_not', given)
  return 'true'
}

/** One of the words, each of which stands for a condition. */
export const oneOf =
  (conditions: Readonly<Record<string, string>>): Filter =>
  (given, _bind, _query, name) => {
    const found = Object.hasOwn(conditions, given) ? conditions[given] : undefined
    if (found === undefined) throw expected(name, `one of ${Object.keys(conditions).join(', ')}`, given)
    return found
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
    if (minor === null)
      throw expected(name, 'an amount of 0 or more with at most two decimals, such as 49.99', given)
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

export const expected = (field: string, what: string, got: string | number): Refusal =>
  invalidField(
    field,
    'invalid_parameter',
    `${field} must be ${what}, got ${JSON.stringify(got).slice(0, 80)}`,
  )

/** A page's number, or how many rows it has. */
export function wholeNumber(
  query: ListQuery,
  name: 'page' | 'limit',
  fallback: number,
  most: number,
): number {
  const given = query[name] ?? fallback
  if (Number.isInteger(given) && given >= 1 && given <= most) return given
  throw expected(name, `a whole number from 1 to ${most}`, given)
}
