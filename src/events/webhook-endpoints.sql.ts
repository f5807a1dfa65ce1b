/** Webhook endpoints: where a merchant wants to be told, and the secrets that sign what he is told. */
import { randomBytes } from 'node:crypto'
import { invariant, notFound, type Refusal, unprocessable } from '../core/errors.ts'
import type { AccountId, WebhookEndpointId } from '../core/ids.ts'
import { newId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { firstRow } from '../db/rows.ts'
import type { DisabledReason } from './delivery.ts'
import type { EventType } from './event.ts'

export interface WebhookEndpoint {
  readonly id: WebhookEndpointId
  readonly url: string
  readonly events: readonly EventType[]
  readonly isActive: boolean
  readonly disabledReason: DisabledReason | null
  /** Since when no attempt succeeded; null while they do. */
  readonly failingSince: Date | null
  readonly createdAt: Date
}

/** Also for an endpoint of another account: nobody learns that it exists. */
export const webhookEndpointNotFound = (): Refusal =>
  notFound('webhook_endpoint_not_found', 'there is no such webhook endpoint')

const COLUMNS = `id, url, events, is_active as "isActive", disabled_reason as "disabledReason",
  failing_since as "failingSince", created_at as "createdAt"`

const SECRET_PURPOSE = 'webhook-secret'
const SECRET_BYTES = 32
/** Every event makes a delivery for each endpoint of its account. */
export const ENDPOINTS_MAX = 50

/** How long the old secret signs beside the new one after a rotation. */
export const ROTATION_HOURS = 24

/** The secret as the merchant sees it, once: `whsec_` and base64 (Standard Webhooks). */
const showSecret = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString('base64')}`

/** Opens a signing secret; the endpoint's id is bound into the seal. */
export const openWebhookSecret = (
  secrets: Secrets,
  endpointId: WebhookEndpointId,
  sealed: Uint8Array,
): Buffer => secrets.open(SECRET_PURPOSE, endpointId, sealed)

/**
 * Registers an endpoint.
 *
 * @param input - `url` as {@link parseWebhookUrl} returned it; a type named twice in `events` counts once.
 * @returns The endpoint and its signing secret, which is shown this one time and rests sealed.
 * @throws {Refusal} `unprocessable`, `too_many_webhook_endpoints`: counted under the account's lock.
 */
export async function createWebhookEndpoint(
  tx: Tx,
  secrets: Secrets,
  input: { accountId: AccountId; url: string; events: readonly EventType[] },
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  await tx.query('select from accounts where id = $1 for no key update', [input.accountId])
  const counted = await tx.query<{ count: bigint }>(
    'select count(*) from webhook_endpoints where account_id = $1 and deleted_at is null',
    [input.accountId],
  )
  if (Number(counted.rows[0]?.count) >= ENDPOINTS_MAX) {
    throw unprocessable(
      'too_many_webhook_endpoints',
      `an account has at most ${ENDPOINTS_MAX} webhook endpoints; delete one, or let one receiver tell the others`,
    )
  }
  const id = newId('whk')
  const secret = randomBytes(SECRET_BYTES)
  const { rows } = await tx.query<WebhookEndpoint>(
    `insert into webhook_endpoints (account_id, id, url, events, secret_sealed)
     values ($1, $2, $3, $4, $5) returning ${COLUMNS}`,
    [input.accountId, id, input.url, [...new Set(input.events)], secrets.seal(SECRET_PURPOSE, id, secret)],
  )
  const [endpoint] = rows
  invariant(endpoint, 'an insert returned no row')
  return { endpoint, secret: showSecret(secret) }
}

/** @returns Null when the account has no such endpoint, or deleted it. */
export const findWebhookEndpoint = (
  db: Queryable,
  accountId: AccountId,
  id: WebhookEndpointId,
): Promise<WebhookEndpoint | null> =>
  firstRow(
    db,
    `select ${COLUMNS} from webhook_endpoints where account_id = $1 and id = $2 and deleted_at is null`,
    [accountId, id],
  )

/**
 * Removes an endpoint. What is still waiting for it is cancelled, so it receives nothing from now on.
 *
 * @returns What it was; null when the account has no such endpoint.
 */
export async function deleteWebhookEndpoint(
  tx: Tx,
  accountId: AccountId,
  id: WebhookEndpointId,
): Promise<WebhookEndpoint | null> {
  const { rows } = await tx.query<WebhookEndpoint>(
    `update webhook_endpoints
     set deleted_at = now(), is_active = false, previous_secret_sealed = null, previous_secret_until = null
     where account_id = $1 and id = $2 and deleted_at is null returning ${COLUMNS}`,
    [accountId, id],
  )
  const [deleted] = rows
  if (!deleted) return null
  await cancelPendingDeliveries(tx, accountId, id)
  return deleted
}

/**
 * Stops sending to an endpoint that asked for it or never answers, and cancels what is still waiting for it.
 * Does nothing to an endpoint that is off already.
 *
 * @returns Whether it was on.
 */
export async function disableWebhookEndpoint(
  tx: Tx,
  accountId: AccountId,
  id: WebhookEndpointId,
  reason: DisabledReason,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update webhook_endpoints set is_active = false, disabled_reason = $3
     where account_id = $1 and id = $2 and is_active`,
    [accountId, id, reason],
  )
  if (rowCount > 0) await cancelPendingDeliveries(tx, accountId, id)
  return rowCount > 0
}

/**
 * Turns an endpoint that Beck disabled on again, with a clean record. What was cancelled stays cancelled: single
 * deliveries can be sent again, and `GET /events` replays the rest.
 *
 * @returns Null when the account has no such endpoint.
 */
export const enableWebhookEndpoint = (
  tx: Tx,
  accountId: AccountId,
  id: WebhookEndpointId,
): Promise<WebhookEndpoint | null> =>
  firstRow(
    tx,
    `update webhook_endpoints set is_active = true, disabled_reason = null, failing_since = null, failed_at = null
     where account_id = $1 and id = $2 and deleted_at is null returning ${COLUMNS}`,
    [accountId, id],
  )

/**
 * Gives an endpoint a new secret. For 24 hours every event carries two signatures, by the new secret and by the one
 * it replaces; a rotation within that time ends the oldest at once.
 *
 * @returns The new secret, shown this one time; null when the account has no such endpoint.
 */
export async function rotateWebhookSecret(
  tx: Tx,
  secrets: Secrets,
  accountId: AccountId,
  id: WebhookEndpointId,
): Promise<{ endpoint: WebhookEndpoint; secret: string; previousSecretUntil: Date } | null> {
  const secret = randomBytes(SECRET_BYTES)
  const { rows } = await tx.query<WebhookEndpoint & { previousSecretUntil: Date }>(
    `update webhook_endpoints
     set previous_secret_sealed = secret_sealed,
         previous_secret_until = now() + make_interval(hours => $4),
         secret_sealed = $3
     where account_id = $1 and id = $2 and deleted_at is null
     returning ${COLUMNS}, previous_secret_until as "previousSecretUntil"`,
    [accountId, id, secrets.seal(SECRET_PURPOSE, id, secret), ROTATION_HOURS],
  )
  const [row] = rows
  if (!row) return null
  const { previousSecretUntil, ...endpoint } = row
  return { endpoint, secret: showSecret(secret), previousSecretUntil }
}

/**
 * Locks the endpoint's pending deliveries by id, the order in which results are recorded too, so that neither waits
 * for the other in a circle.
 */
async function cancelPendingDeliveries(tx: Tx, accountId: AccountId, id: WebhookEndpointId): Promise<void> {
  await tx.query(
    `with waiting as (
       select id from deliveries where account_id = $1 and endpoint_id = $2 and status = 'pending'
       order by id for update
     )
     update deliveries d set status = 'cancelled', due_at = null, leased_until = null, finished_at = now()
     from waiting w where d.account_id = $1 and d.id = w.id`,
    [accountId, id],
  )
}
