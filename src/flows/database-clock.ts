/** The database's time in this process, so that what needs it all the time need not ask each time. */
import { takenTogether } from '../core/taken-together.ts'
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
  let reading = { beganMs: Number.NEGATIVE_INFINITY, atMs: Number.NEGATIVE_INFINITY, databaseMs: 0 }
  const ask = takenTogether(async () => {
    const beganMs = steadyMs()
    const time = await readDatabaseTime(db)
    // One that was long under way tells less than one that began behind it.
    if (beganMs >= reading.beganMs) reading = { beganMs, atMs: steadyMs(), databaseMs: time.getTime() }
  })
  return async () => {
    if (steadyMs() - reading.atMs > READING_MS) await ask()
    return new Date(Math.floor(reading.databaseMs + steadyMs() - reading.atMs))
  }
}
