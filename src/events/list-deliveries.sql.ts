/** What was sent to an endpoint, with every attempt. */
import { conflict, invariant, notFound } from '../core/errors.ts'
import type { AccountId, DeliveryId, EventId, WebhookEndpointId } from '../core/ids.ts'
import { parseInstant } from '../core/time.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { leastIdAt } from '../db/least-id.ts'
import { COUNTED_MAX, listOf, type Page } from '../db/list.ts'
import { type Filter, instantBound, isOrIsNot, type ListQuery } from '../db/list-filters.ts'
import { NEXT_ATTEMPT_AT } from './deliveries.sql.ts'
import type { EventType } from './event.ts'
import { SENT_AGAIN } from './recover-deliveries.sql.ts'
import { isSampleCause } from './sample-event.sql.ts'
import { findWebhookEndpoint } from './webhook-endpoints.sql.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'cancelled'] as const
export const DELIVERY_SORTS = ['id', 'created_at'] as const

export interface Delivery {
  readonly id: DeliveryId
  readonly eventId: EventId
  readonly eventType: EventType
  readonly isSample: boolean
  readonly status: (typeof DELIVERY_STATUSES)[number]
  readonly attempts: readonly DeliveryAttempt[]
  /** Null when none will follow. While an attempt runs, a minute after its start. */
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

export interface DeliveryAttempt {
  readonly number: number
  /** ISO-8601, as JSON carries it. */
  readonly startedAt: string
  readonly durationMs: number
  readonly responseStatus: number | null
  /** The first bytes of the answer. */
  readonly responseStart: string | null
  /** Why no complete answer came. */
  readonly error: string | null
}

/** Of the event that is delivered. */
const ofEvent = (value: string): string =>
  `(select ${value} from events e where e.account_id = d.account_id and e.id = d.event_id)`

/** From the beginning of its transaction, which is the time of a delivery, to the making of its id. */
const MADE_WITHIN = "interval '1 hour'"

/** A date, with what it says of ids, in whose order `deliveries_by_endpoint` has them. */
const made = (comparison: '>=' | '<'): Filter => {
  const isMade = instantBound('d.created_at', comparison)
  return (given, bind, query, name) => {
    const at = bind(parseInstant(String(given)), 'timestamptz')
    const id = leastIdAt(comparison === '<' ? `${at} + ${MADE_WITHIN}` : at)
    return `${isMade(given, bind, query, name)} and d.id ${comparison} ${id}`
  }
}

const { page: readDeliveries } = listOf<Delivery>({
  from: 'deliveries d',
  columns: `d.id, d.event_id as "eventId", ${ofEvent('e.type')} as "eventType",
    ${ofEvent(isSampleCause('e.cause'))} as "isSample", d.status, ${NEXT_ATTEMPT_AT} as "nextAttemptAt",
    d.created_at as "createdAt", d.finished_at as "finishedAt",
    coalesce((
      select json_agg(json_build_object('number', a.number, 'startedAt', a.started_at, 'durationMs', a.duration_ms,
        'responseStatus', a.response_status, 'responseStart', a.response_start, 'error', a.error) order by a.number)
      from delivery_attempts a where a.account_id = d.account_id and a.delivery_id = d.id
    ), '[]') as attempts`,
  account: 'd.account_id',
  id: 'd.id',
  // Ids grow with time.
  sorts: { id: 'd.id', created_at: 'd.id' } satisfies Record<(typeof DELIVERY_SORTS)[number], string>,
  filters: {
    endpoint: (given, bind) => `d.endpoint_id = ${bind(given, 'uuid')}`,
    delivery: (given, bind) => `d.id = ${bind(given, 'uuid')}`,
    filter_status: isOrIsNot('d.status', DELIVERY_STATUSES, 'filter_status_op'),
    start_date: made('>='),
    end_date: made('<'),
  },
  // A busy endpoint has millions in thirty days; dates find an older one.
  countedMax: COUNTED_MAX,
})

/**
 * A page of what an endpoint was or will be sent; null when the account has no such endpoint.
 *
 * @throws {Refusal} `invalid` for a wrong query.
 */
export async function listDeliveries(
  db: Queryable,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  query: ListQuery,
): Promise<Page<Delivery> | null> {
  if (!(await findWebhookEndpoint(db, accountId, endpointId))) return null
  return readDeliveries(db, accountId, { ...query, endpoint: endpointId })
}

/**
 * Sends one delivery again, now, whatever became of it, with the whole schedule of attempts before it; its id and its
 * event's id stay. One that waits for its next attempt is tried now instead, one that is being tried is left alone.
 *
 * @param id - Null for an id that no delivery can have.
 * @returns The delivery; null when the account has no such endpoint.
 * @throws {Refusal} `not_found` for the delivery; `conflict` when the endpoint is off.
 */
export async function redeliver(
  tx: Tx,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  id: DeliveryId | null,
): Promise<Delivery | null> {
  const endpoint = await findWebhookEndpoint(tx, accountId, endpointId)
  if (!endpoint) return null
  const { rowCount } = await tx.query(
    `update deliveries set ${SENT_AGAIN} where account_id = $1 and endpoint_id = $2 and id = $3`,
    [accountId, endpointId, id],
  )
  if (rowCount === 0) {
    throw notFound('delivery_not_found', 'there is no such delivery to this webhook endpoint')
  }
  if (!endpoint.isActive) {
    throw conflict(
      'webhook_endpoint_inactive',
      'the webhook endpoint is disabled; enable it before sending to it again',
    )
  }
  const page = await readDeliveries(tx, accountId, {
    endpoint: endpointId,
    delivery: id ?? '',
  })
  const [delivery] = page.items
  invariant(delivery, 'a delivery was sent again and is not there')
  return delivery
}
