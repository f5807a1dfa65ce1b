/** The end of an event's life. */
import { attempt } from '../db/attempt.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { sqlState } from '../db/failures.ts'
import { countRows } from '../db/rows.ts'
import { FOREIGN_KEY_VIOLATION } from '../db/sqlstate.ts'

/**
 * Removes old events with their deliveries and attempts, except those with a delivery still waiting.
 *
 * @returns How many events went; as many as `limit` means that there may be more.
 */
export async function pruneEvents(tx: Tx, days: number, limit: number): Promise<number> {
  let removed = limit
  const error = await attempt(tx, async () => {
    removed = await countRows(tx, PRUNE, [days, limit])
  })
  // A delivery was asked for again in this moment: its event stays, and all others go the next time.
  if (error !== null && sqlState(error) !== FOREIGN_KEY_VIOLATION) throw error
  return removed
}

/**
 * By their places: looked for by their keys, all deliveries would be walked through where PostgreSQL has not counted them. Where it
 * has, and finds that few are due, it would walk through all of them for those few: `offset 0` has it look at an event's own.
 */
const PRUNE = `with old as (
       select e.ctid as place, e.account_id, e.id from events e
       where e.created_at < now() - make_interval(days => $1)
         and not exists (
           select from deliveries d
           where d.account_id = e.account_id and d.event_id = e.id and d.due_at is not null offset 0)
       order by e.created_at limit $2
       for update of e skip locked
     ), gone as (
       delete from deliveries where ctid = any(array(select d.ctid from old, lateral (
         select ctid from deliveries where account_id = old.account_id and event_id = old.id offset 0) d))
     )
     delete from events where ctid = any(array(select place from old))`

/**
 * Removes endpoints that were deleted long ago, once nothing is left of what they were sent. The order is an index's: where one
 * endpoint has all deliveries, PostgreSQL would walk through them until it met one of another. @returns How many.
 */
export const pruneEndpoints = (db: Queryable, days: number, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from webhook_endpoints where ctid = any(array(
       select w.ctid from webhook_endpoints w
       where w.deleted_at < now() - make_interval(days => $1)
         and not exists (select from deliveries d where d.account_id = w.account_id and d.endpoint_id = w.id
           order by d.id desc offset 0)
       order by w.deleted_at limit $2 for update skip locked))`,
    [days, limit],
  )
