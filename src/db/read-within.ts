/** Reads that are given up when they take too long, for what can be had in another way then. */
import type { Database, Queryable, Tx } from './database.ts'
import { sqlState } from './failures.ts'
import { allRows } from './rows.ts'
import { QUERY_CANCELED } from './sqlstate.ts'

/**
 * The rows that a statement finds within the time; null when it needs longer. A transaction that it is part of goes on: nothing else of it
 * is undone, and its own limit holds again. Through what is neither a database nor a transaction it is read without a limit.
 *
 * @param limitMs - More than 0.
 */
export async function readWithin<Row>(
  db: Queryable,
  limitMs: number,
  text: string,
  values: readonly unknown[],
): Promise<Row[] | null> {
  if (isDatabase(db)) {
    let rows: Row[] | undefined
    const read = async (tx: Tx) => {
      rows = await allRows<Row>(tx, text, values)
      return rows
    }
    return orNull(() => db.transaction(read, { statementLimitMs: limitMs, ifCommitted: async () => rows }))
  }
  if (!isTransaction(db)) return allRows<Row>(db, text, values)
  await db.query(`savepoint within; set local statement_timeout = ${limitMs}`)
  const [read] = await Promise.allSettled([orNull(() => allRows<Row>(db, text, values))])
  await leave(db)
  if (read.status === 'rejected') throw read.reason
  return read.value
}

async function orNull<Row>(read: () => Promise<Row[]>): Promise<Row[] | null> {
  try {
    return await read()
  } catch (cause) {
    if (sqlState(cause) === QUERY_CANCELED) return null
    throw cause
  }
}

const TRIES = 3

/** Undoes the limit, which still holds for this too: a machine that is busy may let it wait for so long. */
async function leave(tx: Tx): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await tx.query('rollback to savepoint within; release savepoint within')
      return
    } catch (cause) {
      if (sqlState(cause) !== QUERY_CANCELED || attempt >= TRIES) throw cause
    }
  }
}

export const isDatabase = (db: Queryable): db is Database => 'transaction' in db
const isTransaction = (db: Queryable): db is Tx => 'inTransaction' in db
