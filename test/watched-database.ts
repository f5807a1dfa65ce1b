import type { Database, Queryable } from '../src/db/database.ts'

export type Statement = readonly [text: string, values: readonly unknown[]]

/** The database, of which each statement that was answered is told before its answer is given, those of transactions too. */
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
    transaction: (work, options) => db.transaction((tx) => work(watch(tx)), options),
  }
}

/** The database, as it is where every statement that has a limit takes longer. */
export const impatient = (db: Database): Database => ({
  ...db,
  transaction: (work, options) => {
    if (options?.statementLimitMs === undefined) return db.transaction(work, options)
    return Promise.reject(
      Object.assign(new Error('canceling statement due to statement timeout'), {
        severity: 'ERROR',
        code: '57014',
      }),
    )
  },
})
