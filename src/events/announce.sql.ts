/** Writes an event and its deliveries into the transaction that causes them. */
import { type EventId, newId, showId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { runRows } from '../db/together.ts'
import type { Announcement } from './event.ts'

/** An event about to be written: its id, and the exact body that is signed and sent. */
export interface EventDraft extends Omit<Announcement, 'data'> {
  readonly id: EventId
  readonly body: string
}

export function draftEvent({ accountId, type, cause, data }: Announcement): EventDraft {
  const id = newId('evt')
  const body = JSON.stringify({ id: showId('evt', id), type, created: new Date().toISOString(), data })
  return { accountId, id, type, cause, body }
}

/** A UUIDv7 of this moment; PostgreSQL makes its own only from version 18 on. */
export const NEW_UUID = `encode(
           set_bit(set_bit(
             overlay(uuid_send(gen_random_uuid())
               placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
               from 1 for 6),
           52, 1), 53, 1), 'hex')::uuid`

/**
 * A common table expression: one pending delivery of the row in `event` (account_id, id, type) for each active endpoint
 * subscribed to its type. PostgreSQL makes their ids, since how many there will be is known only there.
 */
export const DELIVERIES_OF_EVENT = `
  insert into deliveries (account_id, id, event_id, endpoint_id, status, due_at)
  select e.account_id,
         ${NEW_UUID},
         e.id, w.id, 'pending', now()
  from event e
  join webhook_endpoints w
    on w.account_id = e.account_id and w.is_active and w.deleted_at is null and e.type = any (w.events)`

/**
 * Records the event once per cause and one pending delivery for each active endpoint subscribed to its type.
 *
 * @returns Whether the event is new; false when this cause was announced before, which changes nothing.
 */
export async function announce(tx: Tx, announcement: Announcement): Promise<boolean> {
  const { accountId, id, type, cause, body } = draftEvent(announcement)
  const announced = await runRows(tx, ANNOUNCE, [{ account_id: accountId, id, type, cause, body }])
  return announced.length > 0
}

const ANNOUNCE = overRows(
  { account_id: 'uuid', id: 'uuid', type: 'text', cause: 'text', body: 'text' },
  (rows) => `with draft as (
      select * from ${rows}
    ), event as (
      insert into events (account_id, id, type, cause, body) select account_id, id, type, cause, body from draft order by id
      on conflict (account_id, cause) do nothing
      returning account_id, id, type
    ), told as (${DELIVERIES_OF_EVENT})
    select place from draft join event using (id)`,
)
