/** The events of an account in the order in which they became visible, for a receiver that missed some. */
import { invalidField } from '../core/errors.ts'
import { type AccountId, type EventId, readId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import type { EventType } from './event.ts'
import { isSampleCause } from './sample-event.sql.ts'

export interface EventPage {
  /** Bodies exactly as they are signed and sent. */
  readonly bodies: readonly string[]
  readonly hasMore: boolean
  /** What to go on from: the last event given, else what was asked for; null when there is none yet. */
  readonly cursor: EventId | null
}

/**
 * Events after one of them, oldest first. Samples happened to nobody and are left out.
 *
 * The order never changes and nothing slips in behind a cursor, although transactions commit in another order than
 * they write in: what is younger than the oldest writing transaction is held back until that one has ended. Its age
 * is read in a statement of its own, before the events' snapshot: in one statement, a transaction that commits
 * between the two would be missed by both. All processes of Beck connect as one role, which sees its own sessions.
 *
 * @param wanted.types - Others are passed over.
 * @param wanted.after - An event's public id; `latest` for the newest one's cursor and no event; null for the oldest kept.
 * @throws {Refusal} `invalid` when the account has no such event, or no longer.
 */
export async function replayEvents(
  db: Queryable,
  accountId: AccountId,
  wanted: { readonly types: readonly EventType[]; readonly after: string | null; readonly limit: number },
): Promise<EventPage> {
  const { types, after, limit } = wanted
  const visible = await db.query<{ before: string }>(
    `select least(statement_timestamp(), min(xact_start))::text as before from pg_stat_activity
     where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()`,
  )
  const before = visible.rows[0]?.before
  if (after === 'latest') {
    const { rows } = await db.query<{ id: EventId }>(
      `select id from events where account_id = $1 and created_at < $2::timestamptz and type = any($3) and not ${isSampleCause('cause')}
       order by created_at desc, id desc limit 1`,
      [accountId, before, types],
    )
    return { bodies: [], hasMore: false, cursor: rows[0]?.id ?? null }
  }
  const from = after === null ? null : await readCursor(db, accountId, after)
  const { rows } = await db.query<{ id: EventId; body: string }>(
    `select id, body from events
     where account_id = $1 and created_at < $2::timestamptz and type = any($5) and not ${isSampleCause('cause')}
       and ($3::uuid is null or (created_at, id) > (select created_at, id from events where account_id = $1 and id = $3))
     order by created_at, id limit $4`,
    [accountId, before, from, limit + 1, types],
  )
  const given = rows.slice(0, limit)
  return {
    bodies: given.map(({ body }) => body),
    hasMore: rows.length > limit,
    cursor: given.at(-1)?.id ?? from,
  }
}

async function readCursor(db: Queryable, accountId: AccountId, after: string): Promise<EventId> {
  const id = readId('evt', after)
  const { rowCount } = id
    ? await db.query('select from events where account_id = $1 and id = $2', [accountId, id])
    : { rowCount: 0 }
  if (id && rowCount > 0) return id
  throw invalidField(
    'after',
    'unknown_event',
    'after names no event of this account; send the id of an event (evt_…), latest, or nothing for ' +
      'the oldest event of the last 30 days',
  )
}
