/**
 * Who asked for what other people approve: a person (`usr_…`), a key (`key_…`), a key and the person who made it
 * (`key_… made by usr_…`), or `unknown`. It stands under the withdrawal's MAC and in the statement.
 */
import { type ApiKeyId, readId, showId, type UserId } from '../core/ids.ts'

export type AskedBy = string

const MADE_BY = ' made by '

/** @param madeBy - Null for a key of the command line: of that one nobody says whose it is. */
export const askedByKey = (keyId: ApiKeyId, madeBy: UserId | null): AskedBy =>
  madeBy ? `${showId('key', keyId)}${MADE_BY}${showId('usr', madeBy)}` : showId('key', keyId)

const KEY = 'key_'

export const isKey = (askedBy: AskedBy): boolean => askedBy.startsWith(KEY)

/** As {@link isKey} says it, of a column of SQL. */
export const isKeySql = (askedBy: string): string => `starts_with(${askedBy}, '${KEY}')`

/** Whether this person asked, or made the key that asked: then others approve it. @param user - `usr_…` */
export const isAsker = (user: string, askedBy: AskedBy): boolean =>
  askedBy === user || (isKey(askedBy) && askedBy.endsWith(`${MADE_BY}${user}`))

/** As {@link isAsker} says it, of a column and a parameter of SQL. */
export const isAskerSql = (askedBy: string, user: string): string =>
  `(${askedBy} = ${user} or ${isKeySql(askedBy)}
    and right(${askedBy}, length('${MADE_BY}' || ${user})) = '${MADE_BY}' || ${user})`

export interface Asker {
  readonly userId: UserId | null
  readonly keyId: ApiKeyId | null
}

/** @returns Null for what nobody of ours is called. */
export function readAsker(askedBy: AskedBy): Asker | null {
  if (askedBy === 'unknown') return { userId: null, keyId: null }
  if (!isKey(askedBy)) {
    const userId = readId('usr', askedBy)
    return userId && { userId, keyId: null }
  }
  const [key = '', ...makers] = askedBy.split(MADE_BY)
  const [keyId, userId] = [readId('key', key), readId('usr', makers.join(MADE_BY))]
  return keyId && (userId || makers.length === 0) ? { userId, keyId } : null
}
