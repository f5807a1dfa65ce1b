/** Attempts counted by what they met: for the metrics of any process, whichever worker made them. */
import type { Queryable } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'

export interface DeliveryTotal {
  /** `2xx` to `5xx` by the answer's status, `none` when no complete answer came. */
  readonly result: string
  readonly attempts: number
  readonly durationMs: number
}

/** What happened since the last call, many attempts at once. Locks the rows by result. */
export async function addDeliveryTotals(db: Queryable, totals: readonly DeliveryTotal[]): Promise<void> {
  await db.query(
    `insert into delivery_totals as t (result, attempts, duration_ms)
     select * from unnest($1::text[], $2::int8[], $3::int8[]) as added (result, attempts, duration_ms) order by result
     on conflict (result) do update
       set attempts = t.attempts + excluded.attempts, duration_ms = t.duration_ms + excluded.duration_ms`,
    arraysOf(totals, 'result', 'attempts', 'durationMs'),
  )
}

/** Sums of a batch. An answer cut off in the middle counts as none. */
export function totalsOf(
  attempts: readonly { readonly status: number | null; readonly durationMs: number }[],
): DeliveryTotal[] {
  const byResult = Map.groupBy(attempts, ({ status }) =>
    status === null ? 'none' : `${Math.trunc(status / 100)}xx`,
  )
  return Array.from(byResult, ([result, met]) => ({
    result,
    attempts: met.length,
    durationMs: met.reduce((sum, { durationMs }) => sum + durationMs, 0),
  }))
}
