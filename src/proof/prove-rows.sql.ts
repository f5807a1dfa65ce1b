/** When the rows of the books last agreed with each other. */
import type { Queryable } from '../db/database.ts'

export async function markRowsProven(db: Queryable): Promise<void> {
  await db.query(
    'insert into proven_rows default values on conflict (singleton) do update set proven_at = now()',
  )
}

/** How long ago that was, in milliseconds; null before the first proof. */
export async function findRowsProofAge(db: Queryable): Promise<number | null> {
  const { rows } = await db.query<{ age: bigint }>(
    'select (extract(epoch from now() - proven_at) * 1000)::int8 as age from proven_rows',
  )
  return rows[0] ? Number(rows[0].age) : null
}
