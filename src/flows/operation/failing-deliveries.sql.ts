/**
 * What merchants' servers do not take, of all merchants: for who runs the whole Beck, who must tell a receiver that is down from
 * a way out that is closed. The host of a URL is enough for that: its path and query are the merchant's, and often a secret.
 */
import type { Mode } from '../../core/assets.ts'
import { type AccountId, type DeliveryId, readId, type WebhookEndpointId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { type Page, type WholeList, wholeListOf } from '../../db/list.ts'
import { exactId, exactText, type Filter, type ListQuery, oneOf, substring } from '../../db/list-filters.ts'
import { NEXT_ATTEMPT_AT } from '../../events/deliveries.sql.ts'
import type { DisabledReason } from '../../events/delivery.ts'
import type { EventType } from '../../events/event.ts'

interface OfMerchant {
  readonly accountId: AccountId
  readonly accountName: string
  readonly mode: Mode
  /** Of the endpoint's URL, with its scheme: `https://shop.example`. */
  readonly host: string
}

export interface FailingEndpoint extends OfMerchant {
  readonly id: WebhookEndpointId
  readonly isActive: boolean
  readonly disabledReason: DisabledReason | null
  /** Null where it was switched off by its first bad answer. */
  readonly failingSince: Date | null
  /** Deliveries that wait, up to {@link WAITING_COUNTED_MAX}. */
  readonly waiting: number
}

export interface FailingDelivery extends OfMerchant {
  readonly id: DeliveryId
  readonly endpointId: WebhookEndpointId
  readonly eventType: EventType
  /** `pending` is tried again, `failed` is not. */
  readonly status: 'pending' | 'failed'
  readonly attempts: number
  /** Of the last attempt; null where no answer came, and `error` says why. */
  readonly responseStatus: number | null
  readonly error: string | null
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  /** The merchant deleted the endpoint since. */
  readonly isDeleted: boolean
}

export const WAITING_COUNTED_MAX = 1_000
/** Behind so many nobody pages: a merchant, an endpoint or days lead to the rest. */
const COUNTED_MAX = 1_000n
const HOST = `substring(w.url from '^[^/]*//[^/?#]*')`
const OF_MERCHANT = `w.account_id as "accountId", a.name as "accountName", a.mode, ${HOST} as host`

export const FAILING_STATES = ['failing', 'disabled'] as const
export const UNDELIVERED_STATES = ['retrying', 'failed'] as const

/**
 * Endpoints of all merchants whose last attempts failed, and those that Beck switched off. On `webhook_endpoints_ill`, which
 * has those in trouble and no other.
 */
export const listFailingEndpoints = wholeListOf<FailingEndpoint>({
  from: 'webhook_endpoints w join accounts a on a.id = w.account_id',
  columns: `w.id, ${OF_MERCHANT}, w.is_active as "isActive", w.disabled_reason as "disabledReason", w.failing_since as "failingSince",
    (select count(*)::int from (select from deliveries d where d.account_id = w.account_id and d.endpoint_id = w.id
       and d.status = 'pending' limit ${WAITING_COUNTED_MAX}) few) as waiting`,
  account: null,
  id: 'w.id',
  sorts: { created_at: 'coalesce(w.failing_since, w.created_at)', name: 'a.name' },
  always: 'w.deleted_at is null and (w.failing_since is not null or w.disabled_reason is not null)',
  filters: {
    filter_account: exactId('acct', 'w.account_id'),
    filter_name: substring('a.name'),
    filter_mode: exactText('a.mode'),
    filter_host: substring(HOST),
    filter_state: oneOf({
      failing: 'w.disabled_reason is null',
      disabled: 'w.disabled_reason is not null',
    } satisfies Record<(typeof FAILING_STATES)[number], string>),
  },
})

/**
 * On `deliveries_ill` and `deliveries_ill_by_account`: what was delivered, which is nearly all, is in neither. They hold what is
 * filtered by too, so that rows are fetched for the page alone.
 */
const DELIVERIES: WholeList = {
  from: `deliveries d join webhook_endpoints w on w.account_id = d.account_id and w.id = d.endpoint_id
    join accounts a on a.id = d.account_id join events e on e.account_id = d.account_id and e.id = d.event_id
    left join delivery_attempts l on l.account_id = d.account_id and l.delivery_id = d.id and l.number = d.attempts`,
  columns: `d.id, ${OF_MERCHANT}, d.endpoint_id as "endpointId", e.type as "eventType", d.status, d.attempts,
    l.response_status as "responseStatus", l.error, ${NEXT_ATTEMPT_AT} as "nextAttemptAt", d.created_at as "createdAt",
    w.deleted_at is not null as "isDeleted"`,
  account: null,
  id: 'd.id',
  sorts: { created_at: 'd.created_at' },
  always: `(d.status = 'failed' or (d.status = 'pending' and d.attempts > d.attempts_before))`,
  filters: {
    filter_account: exactId('acct', 'd.account_id'),
    filter_endpoint: exactId('whk', 'd.endpoint_id'),
    filter_state: oneOf({
      retrying: `d.status = 'pending'`,
      failed: `d.status = 'failed'`,
    } satisfies Record<(typeof UNDELIVERED_STATES)[number], string>),
  },
  countedMax: COUNTED_MAX,
}

/**
 * Deliveries of all merchants that met no good answer, the newest first.
 *
 * The account of an endpoint is asked for first and bound as a value: looked up within the statement, the planner does not know
 * whose it is. With 600,000 such deliveries, half of them of one endpoint, that took 175 to 290 ms, and 2.2 s for a page further
 * on; now 16 to 33 ms, and at most 45 ms for an endpoint of few.
 *
 * @throws {Refusal} `invalid`.
 */
export async function listFailingDeliveries(db: Queryable, query: ListQuery): Promise<Page<FailingDelivery>> {
  const endpoint = readId('whk', String(query.filter_endpoint ?? ''))
  const filters = endpoint
    ? { ...DELIVERIES.filters, filter_endpoint: ofEndpoint(endpoint, await findOwner(db, endpoint)) }
    : DELIVERIES.filters
  return wholeListOf<FailingDelivery>({ ...DELIVERIES, filters })(db, query)
}

const ofEndpoint =
  (endpoint: WebhookEndpointId, owner: AccountId | null): Filter =>
  (_given, bind) =>
    owner === null
      ? 'false'
      : `d.account_id = ${bind(owner, 'uuid')} and d.endpoint_id = ${bind(endpoint, 'uuid')}`

async function findOwner(db: Queryable, endpoint: WebhookEndpointId): Promise<AccountId | null> {
  const { rows } = await db.query<{ accountId: AccountId }>(
    'select account_id as "accountId" from webhook_endpoints where id = $1',
    [endpoint],
  )
  return rows[0]?.accountId ?? null
}
