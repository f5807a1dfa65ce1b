/** What Beck adds to the contract about webhooks: one endpoint, its secret's rotation, what it was sent. */
import { readId, showId, type WebhookEndpointId } from '../../core/ids.ts'
import { isoOrNull } from '../../core/time.ts'
import { DISABLED_REASONS, FAILING_MAX, SILENT_DAYS } from '../../events/delivery.ts'
import { EVENT_TYPES } from '../../events/event.ts'
import {
  DELIVERY_SORTS,
  DELIVERY_STATUSES,
  type Delivery as DeliveryRow,
  listDeliveries,
  redeliver,
} from '../../events/list-deliveries.sql.ts'
import {
  type WebhookEndpoint as EndpointRow,
  enableWebhookEndpoint,
  findWebhookEndpoint,
  ROTATION_HOURS,
  rotateWebhookSecret,
  webhookEndpointNotFound,
} from '../../events/webhook-endpoints.sql.ts'
import { showPage } from '../page.ts'
import { type Route, read, write } from '../route.ts'
import { Fields, FilterList, Id, Nullable, OneOf, PageOf, PathId, paging, Timestamp } from '../schemas.ts'
import { Type } from '../type.ts'
import { ENDPOINT_EXAMPLE, endpointFields, showEndpoint } from './webhooks.ts'

const Endpoint = Fields(
  {
    ...endpointFields,
    disabled_reason: Nullable(
      OneOf(DISABLED_REASONS, {
        description: `why Beck stopped sending: the receiver answered 410, or attempts failed for ${FAILING_MAX.words}, none succeeding in between`,
      }),
    ),
    failing_since: Nullable(
      Timestamp(
        `since when attempts have failed, with no success in between, nor ${SILENT_DAYS} days without an attempt; after ${FAILING_MAX.words} of it Beck stops sending`,
      ),
    ),
  },
  { title: 'WebhookEndpoint' },
)

const Delivery = Fields(
  {
    id: Id('dlv'),
    event_id: Id('evt'),
    event_type: OneOf(EVENT_TYPES),
    status: OneOf(DELIVERY_STATUSES),
    attempts: Type.Array(
      Fields({
        number: Type.Integer(),
        started_at: Timestamp(),
        duration_ms: Type.Integer(),
        response_status: Nullable(Type.Integer()),
        response_start: Nullable(Type.String({ description: 'the first bytes of the answer' })),
        error: Nullable(Type.String({ description: 'why no complete answer came' })),
      }),
    ),
    next_attempt_at: Nullable(Timestamp()),
    created_at: Timestamp(),
    finished_at: Nullable(Timestamp()),
  },
  { title: 'WebhookDelivery' },
)

const showOne = (row: EndpointRow) => ({
  ...showEndpoint(row),
  disabled_reason: row.disabledReason,
  failing_since: isoOrNull(row.failingSince),
})

const showDelivery = (row: DeliveryRow) => ({
  id: showId('dlv', row.id),
  event_id: showId('evt', row.eventId),
  event_type: row.eventType,
  status: row.status,
  attempts: row.attempts.map((attempt) => ({
    number: attempt.number,
    started_at: new Date(attempt.startedAt).toISOString(),
    duration_ms: attempt.durationMs,
    response_status: attempt.responseStatus,
    response_start: attempt.responseStart,
    error: attempt.error,
  })),
  next_attempt_at: row.nextAttemptAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
  finished_at: row.finishedAt?.toISOString() ?? null,
})

const DELIVERY_EXAMPLE = {
  id: 'dlv_01k6v3e01hf9q8v6c3m5x7z2ta',
  event_id: 'evt_01k6v3d6yqf5bbt9xgk2v7p8rm',
  event_type: 'payment.completed' as const,
  status: 'delivered' as const,
  attempts: [
    {
      number: 1,
      started_at: '2026-02-03T10:31:00.120Z',
      duration_ms: 84,
      response_status: 200,
      response_start: 'ok',
      error: null,
    },
  ],
  next_attempt_at: null,
  created_at: '2026-02-03T10:31:00.004Z',
  finished_at: '2026-02-03T10:31:00.210Z',
}

const NOT_FOUND = { 404: ['webhook_endpoint_not_found'] } as const

/** Runs on the endpoint that the path names. @throws {Refusal} `not_found` when it names none of this account. */
async function onEndpoint<Found>(
  text: string,
  act: (id: WebhookEndpointId) => Promise<Found | null>,
): Promise<Found> {
  const id = readId('whk', text)
  const found = id && (await act(id))
  if (found) return found
  throw webhookEndpointNotFound()
}

export const webhookDeliveries: readonly Route[] = [
  read('GET /webhooks/:id', {
    scope: 'webhooks:read',
    ours: true,
    summary: 'Retrieve a webhook endpoint',
    params: PathId('whk'),
    data: Endpoint,
    refusals: NOT_FOUND,
    example: { data: { ...ENDPOINT_EXAMPLE, disabled_reason: null, failing_since: null } },
    async read({ db, account, params }) {
      return showOne(await onEndpoint(params.id, (id) => findWebhookEndpoint(db, account.id, id)))
    },
  }),
  write('POST /webhooks/:id/enable', {
    scope: 'webhooks:write',
    ours: true,
    summary: 'Enable a disabled webhook endpoint',
    description: 'Events announced from now on are sent to it. `GET /events` replays what it missed.',
    params: PathId('whk'),
    data: Endpoint,
    refusals: NOT_FOUND,
    example: { data: { ...ENDPOINT_EXAMPLE, disabled_reason: null, failing_since: null } },
    async write({ tx, account, params, record }) {
      const enabled = await onEndpoint(params.id, (id) => enableWebhookEndpoint(tx, account.id, id))
      record({ action: 'webhook.enable', subject: params.id })
      return showOne(enabled)
    },
  }),
  write('POST /webhooks/:id/rotate', {
    scope: 'webhooks:write',
    ours: true,
    summary: 'Rotate the signing secret of a webhook endpoint',
    description: `The new secret is in this answer and never again. For ${ROTATION_HOURS} hours every event is signed with both.`,
    params: PathId('whk'),
    data: Fields({
      ...endpointFields,
      secret: Type.String({ description: 'the new secret, `whsec_` and base64' }),
      previous_secret_until: Timestamp('until when the old secret signs too'),
    }),
    refusals: NOT_FOUND,
    example: {
      data: {
        ...ENDPOINT_EXAMPLE,
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
        previous_secret_until: '2026-02-04T10:15:00.000Z',
      },
    },
    async write({ gateway, tx, account, params, record }) {
      const rotated = await onEndpoint(params.id, (id) =>
        rotateWebhookSecret(tx, gateway.secrets, account.id, id),
      )
      record({ action: 'webhook.rotate', subject: params.id })
      return {
        ...showEndpoint(rotated.endpoint),
        secret: rotated.secret,
        previous_secret_until: rotated.previousSecretUntil.toISOString(),
      }
    },
  }),
  read('GET /webhooks/:id/deliveries', {
    scope: 'webhooks:read',
    ours: true,
    summary: 'List what a webhook endpoint was sent',
    description:
      'Every delivery of the last 30 days with each of its attempts, newest first. They are counted, and paged through, up to 10,000: `start_date` and `end_date` find older ones.',
    params: PathId('whk'),
    query: Fields({
      ...paging(DELIVERY_SORTS),
      filter_status: FilterList('`pending`, `delivered`, `failed`, `cancelled`'),
    }),
    data: PageOf(Delivery),
    refusals: { 400: ['invalid_parameter'], ...NOT_FOUND },
    example: { data: { items: [DELIVERY_EXAMPLE], total: 1, page: 1, limit: 25, total_pages: 1 } },
    async read({ db, account, params, query }) {
      const page = await onEndpoint(params.id, (id) => listDeliveries(db, account.id, id, query))
      return showPage(page, showDelivery)
    },
  }),
  write('POST /webhooks/:id/deliveries/:delivery/redeliver', {
    scope: 'webhooks:write',
    ours: true,
    summary: 'Send a delivery again',
    description: 'Now, under the same event id, and with the whole schedule of attempts if it fails again.',
    params: Fields({
      id: Type.String({ description: 'prefix `whk_`' }),
      delivery: Type.String({ description: 'prefix `dlv_`' }),
    }),
    data: Delivery,
    refusals: {
      404: ['webhook_endpoint_not_found', 'delivery_not_found'],
      409: ['webhook_endpoint_inactive'],
    },
    example: {
      data: {
        ...DELIVERY_EXAMPLE,
        status: 'pending' as const,
        next_attempt_at: '2026-02-03T11:00:00.000Z',
        finished_at: null,
      },
    },
    async write({ tx, account, params, record }) {
      const delivery = readId('dlv', params.delivery)
      const sent = await onEndpoint(params.id, (id) => redeliver(tx, account.id, id, delivery))
      record({ action: 'delivery.redeliver', subject: params.delivery, after: { endpoint: params.id } })
      return showDelivery(sent)
    },
    committed: ({ gateway }) => gateway.wake('deliver'),
  }),
]
