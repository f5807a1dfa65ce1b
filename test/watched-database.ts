import type { Database, Queryable } from '../src/db/database.ts'
import { isDatabase } from '../src/db/read-within.ts'

export type Statement = readonly [text: string, values: readonly unknown[]]

/**
 * The database, of which each statement that was answered is told before its answer is given, those of transactions too. It has the time
 * that each takes, however busy the machine is.
 */
export function watched(db: Database, answered: (...statement: Statement) => unknown): Database {
  const watch = <Db extends Queryable>(each: Db): Db => ({
    ...each,
    async query<Row>(text: string, values?: readonly unknown[], hot?: 'prepared') {
      const answer = await each.query<Row>(text, values, hot)
      await answered(text, values ?? [])
      return answer
    },
  })
  return {
    ...watch(db),
    gathering: () => watch(db),
    transaction: (work, { statementLimitMs: _, ...options } = {}) =>
      db.transaction((tx) => work(watch(tx)), options),
  }
}

const cancelled = () =>
  Object.assign(new Error('canceling statement due to statement timeout'), {
    severity: 'ERROR',
    code: '57014',
  })

/** A database, or a transaction, as it is where every statement that may take so long, and no longer, takes longer. */
export function impatient<Db extends Queryable>(db: Db, limitMs = 35): Db {
  let isLimited = false
  return {
    ...db,
    query(text: string, values?: readonly unknown[], hot?: 'prepared') {
      const limit = /set local statement_timeout = (\d+)/.exec(text)?.[1]
      if (isLimited && limit === undefined && !text.startsWith('rollback')) return Promise.reject(cancelled())
      isLimited = limit !== undefined && Number(limit) <= limitMs
      return db.query(text, values, hot)
    },
    ...(isDatabase(db) && { transaction: impatientTransaction(db, limitMs) }),
  }
}

const impatientTransaction =
  (db: Database, limitMs: number): Database['transaction'] =>
  (work, options) =>
    (options?.statementLimitMs ?? Number.POSITIVE_INFINITY) <= limitMs
      ? Promise.reject(cancelled())
      : db.transaction(work, options)
