import { timingSafeEqual } from 'node:crypto'
import type { Mode } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import { isGatewayAccount } from '../core/gateway-account.ts'
import { type AccountId, type ApiKeyId, newId, type UserId } from '../core/ids.ts'
import type { Scope } from '../core/scopes.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows, firstRow } from '../db/rows.ts'
import { hashApiKey, newApiKey } from './api-key.ts'
import { accountClosed } from './closing.sql.ts'

/** A key as lists show it: without the key. */
export interface ApiKey {
  readonly id: ApiKeyId
  readonly accountId: AccountId
  readonly name: string
  readonly scopes: readonly Scope[]
  /** The last four characters, so that people can tell their keys apart. */
  readonly tail: string
  /** The person who made it, or rolled another into it; null for the command line, and for the first start. */
  readonly madeBy: UserId | null
  readonly createdAt: Date
  readonly revokedAt: Date | null
  /** From when it opens nothing; null for never. */
  readonly expiresAt: Date | null
  /** Where requests with it may come from; anywhere when empty. */
  readonly allowedNetworks: readonly string[]
  /** To the minute; null when it never was. */
  readonly lastUsedAt: Date | null
}

export interface ApiKeyDraft {
  readonly accountId: AccountId
  /** Of the account: it is written into the key. */
  readonly mode: Mode
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt?: Date | null
  /** As `readNetworks` takes them. */
  readonly allowedNetworks?: readonly string[]
  /** The person on the dashboard; nobody when left out. */
  readonly madeBy?: UserId | null
}

export const KEY_COLUMNS = `id, account_id as "accountId", name, scopes, key_tail as tail, made_by as "madeBy",
  created_at as "createdAt", revoked_at as "revokedAt", expires_at as "expiresAt", allowed_networks as "allowedNetworks",
  last_used_at as "lastUsedAt"`

/**
 * Makes a key and stores its hash. The returned `key` is the only time anybody sees it.
 *
 * @throws {Refusal} `forbidden`, `account_closed`.
 */
export async function createApiKey(db: Queryable, draft: ApiKeyDraft): Promise<ApiKey & { key: string }> {
  invariant(!isGatewayAccount(draft.accountId), 'nobody has a key to the gateway itself')
  const key = newApiKey(draft.mode)
  const { rows } = await db.query<ApiKey>(
    `insert into api_keys (account_id, id, name, scopes, key_hash, key_tail, expires_at, allowed_networks, made_by)
    select a.id, $2::uuid, $3, $4::text[], $5::bytea, $6, $7::timestamptz, $8::text[], $9::uuid
    from accounts a where a.id = $1::uuid and a.closed_at is null for key share
    returning ${KEY_COLUMNS}`,
    [
      draft.accountId,
      newId('key'),
      draft.name,
      draft.scopes,
      hashApiKey(key),
      key.slice(-4),
      draft.expiresAt ?? null,
      draft.allowedNetworks ?? [],
      draft.madeBy ?? null,
    ],
  )
  const [made] = rows
  if (!made) throw accountClosed()
  return { ...made, key }
}

export interface FoundApiKey
  extends Pick<
    ApiKey,
    'accountId' | 'name' | 'scopes' | 'madeBy' | 'revokedAt' | 'expiresAt' | 'allowedNetworks'
  > {
  readonly keyId: ApiKeyId
  readonly mode: Mode
}

/**
 * The key stored under a hash, revoked or not. The index finds by hash, whose timing tells nothing about the key; the
 * row found is compared once more in constant time.
 */
export async function findApiKey(db: Queryable, hash: Uint8Array): Promise<FoundApiKey | null> {
  const { rows } = await db.query<FoundApiKey & { keyHash: Buffer }>(
    `select k.account_id as "accountId", k.id as "keyId", k.name, a.mode, k.scopes, k.made_by as "madeBy",
       k.revoked_at as "revokedAt", k.expires_at as "expiresAt", k.allowed_networks as "allowedNetworks", k.key_hash as "keyHash"
    from api_keys k join accounts a on a.id = k.account_id
    where k.key_hash = $1::bytea`,
    [Buffer.from(hash)],
  )
  if (!rows[0]) return null
  const { keyHash, ...found } = rows[0]
  return hash.length === keyHash.length && timingSafeEqual(hash, keyHash) ? found : null
}

export interface KeyUse {
  readonly accountId: AccountId
  readonly keyId: ApiKeyId
  readonly at: Date
}

/** Notes when keys were last used, many in one statement. Locks them by id. */
export async function recordKeyUses(db: Queryable, uses: readonly KeyUse[]): Promise<void> {
  await db.query(
    `with used as (
       select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as u (account_id, id, at)
     ), locked as (
       select k.account_id, k.id from api_keys k join used u using (account_id, id) order by k.id for no key update of k
     )
     update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
     from locked l join used u using (account_id, id)
     where k.account_id = l.account_id and k.id = l.id`,
    arraysOf(uses, 'accountId', 'keyId', 'at'),
  )
}

/**
 * Puts a new key in place of one: same name, scopes and networks, made by whoever rolls it, who alone sees it. The old one opens what it opened until `overlapUntil`, or
 * until it would have expired before that.
 *
 * @param expiresAt - Of the new key; null for never.
 * @returns Null when the account has no such key, or it opens nothing any more.
 */
export async function rollApiKey(
  tx: Tx,
  roll: Pick<ApiKeyDraft, 'accountId' | 'mode' | 'madeBy'> & {
    readonly keyId: ApiKeyId
    readonly overlapUntil: Date
    readonly expiresAt: Date | null
  },
): Promise<(ApiKey & { key: string }) | null> {
  const { rows } = await tx.query<ApiKey>(
    `update api_keys set expires_at = least(expires_at, $3::timestamptz)
    where account_id = $1::uuid and id = $2::uuid and revoked_at is null and coalesce(expires_at > now(), true)
    returning ${KEY_COLUMNS}`,
    [roll.accountId, roll.keyId, roll.overlapUntil],
  )
  const [old] = rows
  if (!old) return null
  const { accountId, mode, expiresAt, madeBy = null } = roll
  const { name, scopes, allowedNetworks } = old
  return createApiKey(tx, { accountId, mode, name, scopes, allowedNetworks, expiresAt, madeBy })
}

/** The hashes of all keys that open anything, as base64. Reads the whole table, which is small. */
export async function listKeyHashes(db: Queryable): Promise<Set<string>> {
  const { rows } = await db.query<{ hash: Buffer }>(
    'select key_hash as hash from api_keys where revoked_at is null and coalesce(expires_at > now(), true)',
  )
  return new Set(rows.map(({ hash }) => hash.toString('base64')))
}

/** An account's keys, oldest first, revoked ones included. */
export const listApiKeys = (db: Queryable, accountId: AccountId): Promise<ApiKey[]> =>
  allRows(db, `select ${KEY_COLUMNS} from api_keys where account_id = $1::uuid order by created_at, id`, [
    accountId,
  ])

/** Revokes a key for good. The first revocation's time stands. Null when the account has no such key. */
export const revokeApiKey = (db: Queryable, accountId: AccountId, keyId: ApiKeyId): Promise<ApiKey | null> =>
  firstRow(
    db,
    `update api_keys set revoked_at = coalesce(revoked_at, now())
    where account_id = $1::uuid and id = $2::uuid returning ${KEY_COLUMNS}`,
    [accountId, keyId],
  )

/** Whose key it is: the operator's CLI revokes by the key's id alone. Reads the whole table, which is small. */
export async function findApiKeyOwner(db: Queryable, keyId: ApiKeyId): Promise<AccountId | null> {
  const { rows } = await db.query<{ account_id: AccountId }>(
    'select account_id from api_keys where id = $1::uuid',
    [keyId],
  )
  return rows[0]?.account_id ?? null
}
