/** Sample events: of any type at any time, for one endpoint that is being tried. Nothing happened, so nothing else may count them. */
import { type AccountId, type EventId, newId, showId, type WebhookEndpointId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { NEW_UUID } from './announce.sql.ts'
import type { EventType } from './event.ts'

/** A condition on a column of causes: whether an event is a sample. */
export const isSampleCause = (column: string): string => `${column} like 'sample:%'`

/**
 * Sends an endpoint a sample of one of its types, in an envelope that says `"test": true`. It is signed, attempted and listed
 * as any delivery is; other endpoints, `GET /v1/events` and what was missed know nothing of it.
 *
 * @param sample.data - As the API would show a payment or withdrawal.
 * @returns The event's id; null when the endpoint is off, or not told of such events.
 */
export async function sendSample(
  tx: Tx,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  { type, data }: { readonly type: EventType; readonly data: object },
): Promise<EventId | null> {
  const id = newId('evt')
  const created = new Date().toISOString()
  const body = JSON.stringify({ id: showId('evt', id), type, created, test: true, data })
  const { rowCount } = await tx.query(
    `with wanted as (
       select account_id, id from webhook_endpoints
       where account_id = $1 and id = $2 and is_active and deleted_at is null and $4 = any (events)
     ), event as (
       insert into events (account_id, id, type, cause, body)
       select account_id, $3::uuid, $4::text, 'sample:' || $3::uuid, $5::text from wanted
       returning account_id, id
     )
     insert into deliveries (account_id, id, event_id, endpoint_id, status, due_at)
     select event.account_id, ${NEW_UUID}, event.id, wanted.id, 'pending', now() from event cross join wanted`,
    [accountId, endpointId, id, type, body],
  )
  return rowCount > 0 ? id : null
}
