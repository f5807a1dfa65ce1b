/** Reads that are given up when they take too long, for what can be had in another way then. */
import { type Database, type Queryable, sqlState, type Tx } from './database.ts'
import { allRows } from './rows.ts'

/** PostgreSQL ended the statement, for its time was up. */
const CANCELLED = '57014'

/**
 * The rows that a statement finds within the time; null when it needs longer. A transaction that it is part of goes on: nothing else of it
 * is undone, and its own limit holds again.
 *
 * @param limitMs - More than 0.
 */
export async function readWithin<Row>(
  db: Queryable,
  limitMs: number,
  text: string,
  values: readonly unknown[],
): Promise<Row[] | null> {
  try {
    if (isDatabase(db))
      return await db.transaction((tx) => allRows<Row>(tx, text, values), { statementLimitMs: limitMs })
    if (!isTransaction(db)) return await allRows<Row>(db, text, values)
    await db.query(`savepoint within; set local statement_timeout = ${limitMs}`)
    try {
      return await allRows<Row>(db, text, values)
    } finally {
      // Which also undoes the limit.
      await db.query('rollback to savepoint within; release savepoint within')
    }
  } catch (cause) {
    if (sqlState(cause) === CANCELLED) return null
    throw cause
  }
}

const isDatabase = (db: Queryable): db is Database => 'transaction' in db
const isTransaction = (db: Queryable): db is Tx => 'inTransaction' in db
