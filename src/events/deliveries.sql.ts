/**
 * The queue of deliveries. The rows are the queue: a claim leases them for a minute, so that what a killed worker held is free again
 * by itself, uncounted. What is leased stays in its place in the queue: an index that had the lease would be written with each claim,
 * and with it all others of the table.
 */
import type { AccountId, DeliveryId, EventId, WebhookEndpointId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import type { EventType } from './event.ts'

/** How long a claimed delivery belongs to its worker. An exchange takes a quarter of it at most. */
const LEASE_SECONDS = 60

/** A condition on a row `d`: no worker has it. */
export const IS_FREE = '(d.leased_until is null or d.leased_until <= now())'

/** Of a row `d`: null when no attempt will follow; while one runs, when its lease ends. */
export const NEXT_ATTEMPT_AT = 'greatest(d.due_at, d.leased_until)'

/**
 * A recursive common table expression: account and endpoint of each queue that has anything. An index has no "distinct", so it steps
 * through `deliveries_queue` from endpoint to endpoint, by one probe each.
 */
export const QUEUES = `queues as (
       (select account_id, endpoint_id from deliveries where status = 'pending'
        order by account_id, endpoint_id limit 1)
       union all
       select n.account_id, n.endpoint_id
       from queues q
       cross join lateral (
         select account_id, endpoint_id from deliveries
         where status = 'pending' and (account_id, endpoint_id) > (q.account_id, q.endpoint_id)
         order by account_id, endpoint_id limit 1
       ) n
     )`

export interface ClaimedDelivery {
  readonly accountId: AccountId
  readonly id: DeliveryId
  readonly endpointId: WebhookEndpointId
  readonly eventId: EventId
  readonly type: EventType
  /** What the event is about: `payment:<uuid>`. */
  readonly subject: string
  readonly body: string
  /** Counted attempts since it was queued, or since it was last sent again by hand. */
  readonly attempts: number
  /** Names this claim. */
  readonly leasedUntil: Date
  readonly url: string
  readonly secretSealed: Buffer
  /** Null when no rotation is under way. */
  readonly previousSecretSealed: Buffer | null
  readonly failingSince: Date | null
}

export interface ClaimOptions {
  readonly limit: number
  /** How many a worker works on at once per endpoint, and per endpoint whose last attempt failed. */
  readonly perEndpointMax: number
  readonly perFailingEndpointMax: number
  /** How many of a worker's places one account may fill, whatever its endpoints do. */
  readonly perAccountMax: number
  /** What this worker is working on, by endpoint and by account. */
  readonly inFlight: ReadonlyMap<WebhookEndpointId, number>
  readonly inFlightOfAccounts: ReadonlyMap<AccountId, number>
}

/**
 * Claims due deliveries, fairly: those accounts first that have the fewest in flight, and of theirs those endpoints, so
 * that a merchant whose receivers are slow or dead, however many he has, takes free places last, and never all.
 *
 * The plan steps from queue to queue ({@link QUEUES}) and reads the head of each only: past what workers have, and no further than its
 * account has places. A single `order by due_at limit n` is faster with one endpoint, but reads a whole backlog of millions to find the one behind it
 * that may be sent.
 *
 * What is due is pending: saying so again of the rows that are locked would have PostgreSQL look for each in the queue, by probes of
 * all that are due, in place of its key.
 *
 * Rows are locked in no order and never waited for. Those of an endpoint that is off are cancelled here: an event
 * may have been announced in the moment in which its endpoint was deleted.
 *
 * It is planned in 3 ms and runs in 4. Prepared, whole lives of payments were slower all the same (345 and 356 a second in place of
 * 397 and 413): PostgreSQL keeps a plan for the tables of the moment in which it was made.
 *
 * In one piece: one statement.
 */
export async function claimDeliveries(db: Queryable, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  const { rows } = await db.query<ClaimedDelivery & { status: string }>(
    `with recursive ${QUEUES}, heads as (
       select head.account_id, head.id, head.due_at, coalesce(busy.in_flight, 0) + head.rank as endpoint_rank
       from queues q
       join webhook_endpoints w on w.account_id = q.account_id and w.id = q.endpoint_id
       left join unnest($2::uuid[], $3::integer[]) as busy (endpoint_id, in_flight)
         on busy.endpoint_id = q.endpoint_id
       left join unnest($7::uuid[], $8::integer[]) as held (account_id, in_flight)
         on held.account_id = q.account_id
       cross join lateral (
         select d.account_id, d.id, d.due_at, row_number() over (order by d.due_at, d.id) as rank
         from deliveries d
         where d.account_id = q.account_id and d.endpoint_id = q.endpoint_id
           and d.status = 'pending' and d.due_at <= now() and ${IS_FREE}
         order by d.due_at, d.id
         limit greatest(0, least($1, $9::integer - coalesce(held.in_flight, 0),
                                 case when w.failing_since is null then $4::integer else $5::integer end
                                   - coalesce(busy.in_flight, 0)))
       ) head
     ), ranked as (
       select h.account_id, h.id, h.due_at, h.endpoint_rank, coalesce(busy.in_flight, 0) + row_number() over (
           partition by h.account_id order by h.endpoint_rank, h.due_at, h.id) as account_rank
       from heads h
       left join unnest($7::uuid[], $8::integer[]) as busy (account_id, in_flight) using (account_id)
     ), candidates as (
       select account_id, id from ranked
       where account_rank <= $9::integer
       order by account_rank, endpoint_rank, due_at
       limit $1
     ), claimed as (
       select d.account_id, d.id
       from candidates c
       join deliveries d on d.account_id = c.account_id and d.id = c.id
       where d.due_at <= now() and ${IS_FREE}
       for update of d skip locked
     )
     update deliveries d
     set status = case when w.is_active then 'pending' else 'cancelled' end,
         due_at = case when w.is_active then d.due_at end,
         leased_until = case when w.is_active
           then date_trunc('milliseconds', now()) + make_interval(secs => $6) end,
         finished_at = case when w.is_active then null else now() end
     from claimed c, webhook_endpoints w, events e
     where d.account_id = c.account_id and d.id = c.id
       and w.account_id = d.account_id and w.id = d.endpoint_id
       and e.account_id = d.account_id and e.id = d.event_id
     returning d.status, d.account_id as "accountId", d.id, d.endpoint_id as "endpointId", d.event_id as "eventId",
       split_part(e.cause, ':', 1) || ':' || split_part(e.cause, ':', 2) as subject, e.type, e.body,
       d.attempts - d.attempts_before as attempts, d.leased_until as "leasedUntil", w.url,
       w.secret_sealed as "secretSealed",
       case when w.previous_secret_until > now() then w.previous_secret_sealed end as "previousSecretSealed",
       w.failing_since as "failingSince"`,
    [
      options.limit,
      [...options.inFlight.keys()],
      [...options.inFlight.values()],
      options.perEndpointMax,
      options.perFailingEndpointMax,
      LEASE_SECONDS,
      [...options.inFlightOfAccounts.keys()],
      [...options.inFlightOfAccounts.values()],
      options.perAccountMax,
    ],
  )
  return rows.filter(({ status }) => status === 'pending')
}

export interface AttemptRecord {
  readonly delivery: Pick<ClaimedDelivery, 'accountId' | 'id' | 'leasedUntil'>
  readonly status: 'delivered' | 'pending' | 'failed'
  /** Until the next attempt when `status` is pending. */
  readonly delayMs: number | null
  readonly startedAt: Date
  readonly durationMs: number
  readonly responseStatus: number | null
  readonly responseStart: string | null
  readonly error: string | null
}

/**
 * Writes attempts and what follows from them, many in one statement. An attempt whose lease another worker holds by
 * now (this one was stopped for a minute) is left out, unless it succeeded: then nobody needs to try again.
 * Locks the deliveries by id, as cancelling does, and each is looked up by its key, however many wait.
 *
 * @throws PostgreSQL error 23505 when a delivery is among them twice.
 */
export async function recordAttempts(db: Queryable, attempts: readonly AttemptRecord[]): Promise<void> {
  const rows = attempts.map(({ delivery, ...attempt }) => ({
    account_id: delivery.accountId,
    id: delivery.id,
    lease: delivery.leasedUntil,
    status: attempt.status,
    delay_ms: attempt.delayMs,
    started_at: attempt.startedAt,
    duration_ms: attempt.durationMs,
    response_status: attempt.responseStatus,
    response_start: attempt.responseStart,
    error: attempt.error,
  }))
  await db.query(
    `with made as (
       select * from json_to_recordset($1::json) as m (
         account_id uuid, id uuid, lease timestamptz, status text, delay_ms bigint, started_at timestamptz,
         duration_ms integer, response_status integer, response_start text, error text)
     ), locked as (
       select each.account_id, each.id
       from (select * from made order by id) m
       cross join lateral (
         select d.account_id, d.id from deliveries d
         where d.account_id = m.account_id and d.id = m.id
           and (d.leased_until = m.lease or (d.due_at is not null and m.status = 'delivered'))
         for update
       ) each
     ), counted as (
       update deliveries d
       set attempts = d.attempts + 1,
           status = m.status,
           due_at = case when m.status = 'pending' then now() + m.delay_ms * interval '1 millisecond' end,
           leased_until = null,
           finished_at = case when m.status = 'pending' then null else now() end
       from locked l
       join made m on m.account_id = l.account_id and m.id = l.id
       where d.account_id = l.account_id and d.id = l.id
       returning d.account_id, d.id, d.attempts
     )
     insert into delivery_attempts (account_id, delivery_id, number, started_at, duration_ms,
       response_status, response_start, error)
     select c.account_id, c.id, c.attempts, m.started_at, m.duration_ms, m.response_status, m.response_start, m.error
     from counted c
     join made m on m.account_id = c.account_id and m.id = c.id`,
    [JSON.stringify(rows)],
  )
}

export interface ReturnedDelivery extends Pick<ClaimedDelivery, 'accountId' | 'id' | 'leasedUntil'> {
  /** It could not be attempted, and is due again when its lease would have ended, behind all that waits. */
  readonly isUnsendable: boolean
}

/** Gives claimed deliveries back, uncounted. Locks them as {@link recordAttempts} does. */
export async function returnDeliveries(
  db: Queryable,
  deliveries: readonly ReturnedDelivery[],
): Promise<void> {
  await db.query(
    `with locked as (
       select each.account_id, each.id, c.unsendable
       from (select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::boolean[]) as c (account_id, id, lease, unsendable)
             order by id) c
       cross join lateral (
         select d.account_id, d.id from deliveries d
         where d.account_id = c.account_id and d.id = c.id and d.leased_until = c.lease
         for update
       ) each
     )
     update deliveries d set due_at = case when l.unsendable then d.leased_until else d.due_at end, leased_until = null
     from locked l where d.account_id = l.account_id and d.id = l.id`,
    arraysOf(deliveries, 'accountId', 'id', 'leasedUntil', 'isUnsendable'),
  )
}
