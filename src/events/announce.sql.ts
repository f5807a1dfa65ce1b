/** Writes an event and its deliveries into the transaction that causes them. */
import { newId, showId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import type { Announcement } from './event.ts'

/**
 * Records the event once per cause and one pending delivery for each active endpoint subscribed to its type.
 *
 * @returns Whether the event is new; false when this cause was announced before, which changes nothing.
 */
export async function announce(tx: Tx, announcement: Announcement): Promise<boolean> {
  const { accountId, type, cause, data } = announcement
  const id = newId('evt')
  const created = new Date()
  const body = JSON.stringify({ id: showId('evt', id), type, created: created.toISOString(), data })
  const { rowCount } = await tx.query(
    `insert into events (account_id, id, type, cause, body, created_at)
     values ($1, $2, $3, $4, $5, $6) on conflict (account_id, cause) do nothing`,
    [accountId, id, type, cause, body, created],
  )
  if (rowCount === 0) return false
  const { rows: endpoints } = await tx.query<{ id: string }>(
    `select id from webhook_endpoints
     where account_id = $1 and is_active and deleted_at is null and $2 = any(events)`,
    [accountId, type],
  )
  for (const endpoint of endpoints) {
    await tx.query(
      `insert into deliveries (account_id, id, event_id, endpoint_id, status, due_at)
       values ($1, $2, $3, $4, 'pending', now())`,
      [accountId, newId('dlv'), id, endpoint.id],
    )
  }
  return true
}
