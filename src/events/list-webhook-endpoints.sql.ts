import { listOf } from '../db/list.ts'
import { activity, exactId, substring } from '../db/list-filters.ts'
import type { WebhookEndpoint } from './webhook-endpoints.sql.ts'

export const WEBHOOK_ENDPOINT_SORTS = ['id', 'url', 'events', 'status', 'created_at'] as const

/** The account's webhook endpoints, without their secrets. */
export const { page: listWebhookEndpoints } = listOf<WebhookEndpoint>({
  from: 'webhook_endpoints w',
  columns: `w.id, w.url, w.events, w.is_active as "isActive", w.disabled_reason as "disabledReason",
    w.failing_since as "failingSince", w.created_at as "createdAt"`,
  account: 'w.account_id',
  id: 'w.id',
  always: 'w.deleted_at is null',
  sorts: {
    id: 'w.id',
    url: 'w.url',
    events: 'w.events',
    status: 'w.is_active',
    created_at: 'w.created_at',
  } satisfies Record<(typeof WEBHOOK_ENDPOINT_SORTS)[number], string>,
  filters: {
    filter_id: exactId('whk', 'w.id'),
    filter_url: substring('w.url'),
    filter_status: activity('w.is_active'),
  },
})
