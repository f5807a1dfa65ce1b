/** Who is calling: the secret key in `X-API-Key` or `Authorization: Bearer`, and what it may do. */
import type { Account } from '../accounts/account.ts'
import { findAccount } from '../accounts/accounts.sql.ts'
import { parseApiKey } from '../accounts/api-key.ts'
import { findApiKey, type KeyUse, listKeyHashes, recordKeyUses } from '../accounts/api-keys.sql.ts'
import { forbidden, invariant, type Refusal, unauthenticated } from '../core/errors.ts'
import { type ApiKeyId, showId, type UserId } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import { type Networks, readNetworks } from '../core/networks.ts'
import type { Scope } from '../core/scopes.ts'
import type { Queryable } from '../db/database.ts'
import { isRepeated, type SentHeaders } from './sent-once.ts'

export interface Caller {
  readonly account: Account
  readonly keyId: ApiKeyId
  readonly keyName: string
  /** The person who made the key; null where nobody is known. */
  readonly madeBy: UserId | null
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
  /** Where requests with the key may come from; null for anywhere. */
  readonly networks: Networks | null
}

/** How long a process may go on believing a key it has looked up: a revoked key stops everywhere within this. */
const BELIEVED_MS = 2_000
const BELIEVED_KEYS_MAX = 10_000
const ROSTER_MS = 10_000
/** What it does not hold may have been made since. */
const ROSTER_MISS_MS = 1_000
/** The last use of a key is written so seldom, for all keys at once: no request waits for it. */
const USES_MS = 60_000

/**
 * The key a request carries, unread; null when it carries none.
 *
 * @throws {Refusal} `unauthenticated` when the header is not of the form, was sent twice, or both headers name different keys.
 */
export function presentedKey(request: SentHeaders): string | null {
  const own = request.headers['x-api-key']?.toString()
  const bearer = request.headers.authorization
  for (const name of ['X-API-Key', 'Authorization'])
    if (isRepeated(request, name.toLowerCase())) throw malformed(`the header ${name} was sent more than once`)
  const match = bearer === undefined ? null : /^bearer +(\S+) *$/i.exec(bearer)
  if (bearer !== undefined && !match) {
    throw malformed('the header Authorization must read "Bearer " and an API key')
  }
  const carried = match?.[1]
  if (own !== undefined && carried !== undefined && own !== carried) {
    throw malformed('X-API-Key and Authorization carry different keys; send one of them')
  }
  return own ?? carried ?? null
}

export interface Authenticator {
  /**
   * @throws {Refusal} `unauthenticated` when the key is malformed, unknown, revoked or expired; `forbidden` when it may not be
   *   used from that address.
   */
  caller(key: string, address: string): Promise<Caller>
  /**
   * Whether there is such a key, without asking the database for each: guesses of those who guessed much before cost it one
   * query a second. A key made since is seen then.
   */
  exists(key: string): Promise<boolean>
  /** Writes down which keys were used. */
  close(): Promise<void>
}

/** Looks keys up by their hash and remembers each answer for two seconds by the steady clock, good ones only. */
export function openAuthenticator(db: Queryable, log: Log): Authenticator {
  const uses = openUses(db, log)
  let roster = { readAt: Number.NEGATIVE_INFINITY, hashes: Promise.resolve(new Set<string>()) }
  const readRoster = (olderThanMs: number): Promise<Set<string>> => {
    const at = performance.now()
    if (at - roster.readAt < olderThanMs) return roster.hashes
    const read = { readAt: at, hashes: listKeyHashes(db) }
    roster = read
    // What could not be read is asked for again as soon as what is missing there.
    read.hashes.catch(() => {
      read.readAt += ROSTER_MISS_MS - ROSTER_MS
    })
    return read.hashes
  }
  const believed = new Map<string, { until: number; caller: Promise<Caller> }>()

  const lookUp = async (hash: Buffer): Promise<Caller> => {
    const found = await findApiKey(db, hash)
    if (!found) throw unauthenticated('unknown_api_key', 'the API key is not known here')
    if (found.revokedAt) {
      throw unauthenticated('revoked_api_key', 'the API key was revoked; use another one')
    }
    const account = await findAccount(db, found.accountId)
    invariant(account, `the API key ${showId('key', found.keyId)} belongs to no account`)
    const { keyId, name: keyName, madeBy, scopes, expiresAt, allowedNetworks } = found
    const networks = allowedNetworks.length === 0 ? null : readNetworks(allowedNetworks)
    invariant(
      networks || allowedNetworks.length === 0,
      `the API key ${showId('key', keyId)} is bound to what is no network`,
    )
    return { account, keyId, keyName, madeBy, scopes, expiresAt, networks }
  }

  const believedCaller = (hash: Buffer): Promise<Caller> => {
    const name = hash.toString('base64')
    const known = believed.get(name)
    if (known && known.until > performance.now()) return known.caller
    if (believed.size >= BELIEVED_KEYS_MAX) believed.clear()
    const caller = lookUp(hash)
    const entry = { until: performance.now() + BELIEVED_MS, caller }
    believed.set(name, entry)
    caller.catch(() => {
      if (believed.get(name) === entry) believed.delete(name)
    })
    return caller
  }

  return {
    close: () => uses.close(),
    async exists(key) {
      const parsed = parseApiKey(key)
      if (!parsed) return false
      const name = parsed.hash.toString('base64')
      return (await readRoster(ROSTER_MS)).has(name) || (await readRoster(ROSTER_MISS_MS)).has(name)
    },
    async caller(key, address) {
      const parsed = parseApiKey(key)
      if (!parsed) throw malformed('the API key is malformed: check that it was copied whole')
      const caller = await believedCaller(parsed.hash)
      const at = new Date()
      requireInForce(caller, address, at, log)
      uses.add({ accountId: caller.account.id, keyId: caller.keyId, at })
      return caller
    },
  }
}

/** The last use of each key, written down now and then. */
function openUses(db: Queryable, log: Log) {
  const uses = new Map<ApiKeyId, KeyUse>()
  const writeUses = async () => {
    const batch = [...uses.values()]
    uses.clear()
    if (batch.length > 0) await recordKeyUses(db, batch)
  }
  const tryToWrite = () =>
    writeUses().catch((error: unknown) =>
      log.warn({ err: error }, 'the last use of keys could not be written'),
    )
  const writing = setInterval(tryToWrite, USES_MS)
  writing.unref()
  return {
    add: (use: KeyUse): unknown => uses.set(use.keyId, use),
    async close() {
      clearInterval(writing)
      await tryToWrite()
    },
  }
}

function requireInForce(
  { keyId, account, expiresAt, networks }: Caller,
  address: string,
  at: Date,
  log: Log,
): void {
  if (expiresAt && expiresAt <= at) {
    throw unauthenticated(
      'expired_api_key',
      `the API key expired at ${expiresAt.toISOString()}; use the one that replaced it`,
    )
  }
  if (networks && !networks.has(address)) {
    // It is the right key in the wrong place: stolen, or the shop has moved.
    log.warn(
      { key_id: showId('key', keyId), account_id: showId('acct', account.id), address },
      'an API key was used from an address that it is not bound to',
    )
    throw forbidden(
      'address_not_allowed',
      `this API key is bound to other networks than ${address}; use it from there, or make one for here`,
    )
  }
}

/** @throws {Refusal} `forbidden` that names the missing scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return
  throw forbidden(
    'missing_scope',
    `this API key lacks the scope ${scope}; it has ${caller.scopes.join(', ')}`,
  )
}

export const missingKey = (): Refusal =>
  unauthenticated(
    'missing_api_key',
    'no API key; send one in the header X-API-Key or as Authorization: Bearer',
  )

const malformed = (message: string): Refusal => unauthenticated('malformed_api_key', message)
