/** An account's API keys as its people look through them. */
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { type ListDescription, type Page, readPage } from '../db/list.ts'
import { expected, type Filter, type ListQuery, substring } from '../db/list-filters.ts'
import { type ApiKey, type ApiKeyRow, KEY_COLUMNS, keyFromRow } from './api-keys.sql.ts'

export const KEY_STATES = ['active', 'expired', 'revoked'] as const
export type KeyState = (typeof KEY_STATES)[number]

const CONDITIONS: Readonly<Record<KeyState, string>> = {
  active: 'k.revoked_at is null and coalesce(k.expires_at > now(), true)',
  expired: 'k.revoked_at is null and k.expires_at <= now()',
  revoked: 'k.revoked_at is not null',
}

const state: Filter = (given, _bind, _query, name) => {
  const known = KEY_STATES.find((each) => each === given)
  if (!known) throw expected(name, `one of ${KEY_STATES.join(', ')}`, given)
  return CONDITIONS[known]
}

const KEYS: ListDescription = {
  from: 'api_keys k',
  columns: KEY_COLUMNS,
  account: 'k.account_id',
  id: 'k.id',
  sorts: { created_at: 'k.created_at', name: 'k.name' },
  filters: { filter_status: state, filter_name: substring('k.name') },
}

/** A page of an account's keys, revoked ones included. @throws {Refusal} `invalid` for a wrong query. */
export async function listKeysOf(
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<ApiKey>> {
  const page = await readPage<ApiKeyRow>(db, KEYS, accountId, query)
  return { ...page, items: page.items.map(keyFromRow) }
}
