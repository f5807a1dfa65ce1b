/** An account's API keys as its people look through them. */
import { listOf } from '../db/list.ts'
import { oneOf, substring } from '../db/list-filters.ts'
import { type ApiKey, KEY_COLUMNS } from './api-keys.sql.ts'

export const KEY_STATES = ['active', 'expired', 'revoked'] as const
export type KeyState = (typeof KEY_STATES)[number]

const CONDITIONS: Readonly<Record<KeyState, string>> = {
  active: 'k.revoked_at is null and coalesce(k.expires_at > now(), true)',
  expired: 'k.revoked_at is null and k.expires_at <= now()',
  revoked: 'k.revoked_at is not null',
}

/** An account's keys, revoked ones included. */
export const { page: listKeysOf } = listOf<ApiKey>({
  from: 'api_keys k',
  columns: KEY_COLUMNS,
  account: 'k.account_id',
  id: 'k.id',
  sorts: { created_at: 'k.created_at', name: 'k.name' },
  filters: { filter_status: oneOf(CONDITIONS), filter_name: substring('k.name') },
})
