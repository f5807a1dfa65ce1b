import { invariant } from '../core/errors.ts'
import type { Queryable } from '../db/database.ts'

/** The database's clock at this moment, whatever a transaction saw when it began: deadlines that decide about money run on it. */
export async function readDatabaseTime(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>(
    "select date_trunc('milliseconds', clock_timestamp()) as now",
  )
  invariant(rows[0], 'the database tells the time')
  return rows[0].now
}
