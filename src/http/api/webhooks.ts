/** Webhook endpoints: where a merchant is told of events. */
import { readId, showId } from '../../core/ids.ts'
import { EVENT_TYPES } from '../../events/event.ts'
import { listWebhookEndpoints, WEBHOOK_ENDPOINT_SORTS } from '../../events/list-webhook-endpoints.sql.ts'
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  type WebhookEndpoint as EndpointRow,
  webhookEndpointNotFound,
} from '../../events/webhook-endpoints.sql.ts'
import { parseWebhookUrl, WEBHOOK_URL_LENGTH_MAX } from '../../events/webhook-url.ts'
import { showPage } from '../page.ts'
import { type Route, read, write } from '../route.ts'
import {
  Fields,
  FilterId,
  FilterList,
  FilterText,
  Id,
  OneOf,
  PageOf,
  PathId,
  paging,
  Timestamp,
} from '../schemas.ts'
import { Type } from '../type.ts'

export const endpointFields = {
  id: Id('whk'),
  url: Type.String(),
  events: Type.Array(OneOf(EVENT_TYPES)),
  is_active: Type.Boolean({ description: 'whether it receives events' }),
  created_at: Timestamp(),
}

const WebhookEndpoint = Fields(endpointFields, { title: 'ListedWebhookEndpoint' })

export const showEndpoint = (row: EndpointRow) => ({
  id: showId('whk', row.id),
  url: row.url,
  events: row.events,
  is_active: row.isActive,
  created_at: row.createdAt.toISOString(),
})

export const ENDPOINT_EXAMPLE = {
  id: 'whk_01k6v3d6yqf5bbt9xgk2v7p8rm',
  url: 'https://shop.example/hooks/beck',
  events: ['payment.completed' as const],
  is_active: true,
  created_at: '2026-02-03T10:15:00.000Z',
}

export const webhooks: readonly Route[] = [
  write('POST /webhooks', {
    scope: 'webhooks:write',
    summary: 'Register a webhook endpoint',
    description: 'The signing secret is in this answer and never again.',
    body: Fields({
      url: Type.String({
        maxLength: WEBHOOK_URL_LENGTH_MAX,
        description: 'an https URL on the public internet',
      }),
      events: Type.Array(OneOf(EVENT_TYPES), {
        minItems: 1,
        maxItems: 50,
        description: 'one or more event types',
      }),
    }),
    status: 201,
    data: Fields({
      ...endpointFields,
      secret: Type.String({ description: '`whsec_` and base64: signs the events (Standard Webhooks)' }),
    }),
    refusals: {
      400: ['invalid_url', 'url_not_https', 'url_with_credentials', 'url_not_public'],
      422: ['too_many_webhook_endpoints'],
    },
    example: {
      body: { url: ENDPOINT_EXAMPLE.url, events: ENDPOINT_EXAMPLE.events },
      data: { ...ENDPOINT_EXAMPLE, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' },
    },
    async write({ gateway, tx, account, body, record }) {
      const url = parseWebhookUrl(body.url, { allowPrivate: gateway.settings.webhookAllowPrivate })
      const { endpoint, secret } = await createWebhookEndpoint(tx, gateway.secrets, {
        accountId: account.id,
        url,
        events: body.events,
      })
      record({
        action: 'webhook.create',
        subject: showId('whk', endpoint.id),
        after: { url: endpoint.url, events: endpoint.events },
      })
      return { ...showEndpoint(endpoint), secret }
    },
  }),
  read('GET /webhooks', {
    scope: 'webhooks:read',
    summary: 'List webhook endpoints',
    query: Fields({
      ...paging(WEBHOOK_ENDPOINT_SORTS),
      filter_id: FilterId,
      filter_url: FilterText('part of the URL, in any case', WEBHOOK_URL_LENGTH_MAX),
      filter_status: FilterList('`active`, `inactive`'),
    }),
    data: PageOf(WebhookEndpoint),
    refusals: { 400: ['invalid_parameter'] },
    example: { data: { items: [ENDPOINT_EXAMPLE], total: 1, page: 1, limit: 25, total_pages: 1 } },
    async read({ db, account, query }) {
      return showPage(await listWebhookEndpoints(db, account.id, query), showEndpoint)
    },
  }),
  write('DELETE /webhooks/:id', {
    scope: 'webhooks:write',
    summary: 'Delete a webhook endpoint',
    description: 'It receives nothing from now on, what is still waiting for it included.',
    params: PathId('whk'),
    data: Fields({ id: Id('whk'), deleted: Type.Literal(true) }),
    refusals: { 404: ['webhook_endpoint_not_found'] },
    example: { data: { id: ENDPOINT_EXAMPLE.id, deleted: true } },
    async write({ tx, account, params, record }) {
      const id = readId('whk', params.id)
      const deleted = id && (await deleteWebhookEndpoint(tx, account.id, id))
      if (!deleted) {
        throw webhookEndpointNotFound()
      }
      const { url, events } = deleted
      record({ action: 'webhook.delete', subject: params.id, before: { url, events } })
      return { id: params.id, deleted: true as const }
    },
  }),
]
