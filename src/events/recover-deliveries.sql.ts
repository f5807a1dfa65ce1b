/** Sending a receiver what it missed. */
import type { AccountId, WebhookEndpointId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { countRows } from '../db/rows.ts'
import { NEW_UUID } from './announce.sql.ts'
import { isSampleCause } from './sample-event.sql.ts'

/** In one act; whoever missed more asks again from where it ended. */
export const RECOVERED_MAX = 1_000

/**
 * Sends an endpoint the events of its types since an instant that it did not take, the oldest first: those that failed with
 * the whole schedule before them, and those from before it was there. What waits for its next attempt is left alone.
 *
 * @returns How many, at most {@link RECOVERED_MAX}.
 */
export async function recoverDeliveries(
  tx: Tx,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  since: Date,
): Promise<number> {
  return send(
    tx,
    `select e.account_id, e.id from events e join webhook_endpoints w on w.account_id = e.account_id and w.id = $2
     left join deliveries d on d.account_id = e.account_id and d.event_id = e.id and d.endpoint_id = $2
     where e.account_id = $1 and e.created_at >= $3::timestamptz and e.type = any (w.events) and not ${isSampleCause('e.cause')}
       and (d.id is null or d.status in ('failed', 'cancelled'))
     order by e.created_at, e.id limit ${RECOVERED_MAX}`,
    [accountId, endpointId, since],
  )
}

/** Sends an endpoint the newest event of its types, whatever became of it. @returns Whether there is one. */
export async function sendNewest(
  tx: Tx,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
): Promise<boolean> {
  const sent = await send(
    tx,
    `select e.account_id, e.id from events e join webhook_endpoints w on w.account_id = e.account_id and w.id = $2
     where e.account_id = $1 and e.type = any (w.events) and not ${isSampleCause('e.cause')}
     order by e.created_at desc, e.id desc limit 1`,
    [accountId, endpointId],
  )
  return sent > 0
}

/** What makes a delivery due now, with the whole schedule of attempts before it. A worker that has it keeps it. */
export const SENT_AGAIN = `status = 'pending', finished_at = null,
  attempts_before = case when deliveries.status = 'pending' then deliveries.attempts_before else deliveries.attempts end,
  due_at = least(deliveries.due_at, now())`

const send = (tx: Tx, wanted: string, values: readonly unknown[]): Promise<number> =>
  countRows(
    tx,
    `insert into deliveries (account_id, id, event_id, endpoint_id, status, due_at)
     select account_id, ${NEW_UUID}, id, $2, 'pending', now() from (${wanted}) wanted
     on conflict (account_id, event_id, endpoint_id) do update set ${SENT_AGAIN}`,
    [...values],
  )
