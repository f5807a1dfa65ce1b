/** The database's time in this process, so that what needs it all the time need not ask each time. */
import type { Queryable } from '../db/database.ts'
import { readDatabaseTime } from './database-time.sql.ts'

/** A reading is carried on by the process's own steady clock for so long. */
const READING_MS = 250

/**
 * Reads the database's clock at most every quarter of a second. Never ahead of it, and behind by the reading's round trip at most;
 * whoever writes such a time lets the database compare it with its own (docs/decisions/0070-one-statement.md).
 *
 * @param steadyMs - A clock of this process that never jumps.
 */
export function openDatabaseClock(
  db: Queryable,
  steadyMs: () => number = () => performance.now(),
): () => Promise<Date> {
  let reading = { atMs: Number.NEGATIVE_INFINITY, databaseMs: 0 }
  let asking: Promise<void> | null = null
  const ask = async () => {
    const time = await readDatabaseTime(db)
    reading = { atMs: steadyMs(), databaseMs: time.getTime() }
  }
  return async () => {
    if (steadyMs() - reading.atMs > READING_MS) {
      asking ??= ask().finally(() => {
        asking = null
      })
      await asking
    }
    return new Date(Math.floor(reading.databaseMs + steadyMs() - reading.atMs))
  }
}
