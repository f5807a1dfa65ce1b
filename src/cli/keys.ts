import type { Account } from '../accounts/account.ts'
import { findAccount, listAccounts } from '../accounts/accounts.sql.ts'
import { readScopes } from '../accounts/api-key.ts'
import {
  type ApiKey,
  createApiKey,
  findApiKeyOwner,
  listApiKeys,
  revokeApiKey,
  rollApiKey,
} from '../accounts/api-keys.sql.ts'
import { invalid, notFound } from '../core/errors.ts'
import { type AccountId, readId, showId } from '../core/ids.ts'
import { readNetworks } from '../core/networks.ts'
import { SCOPES } from '../core/scopes.ts'
import { DAY_MS, HOUR_MS, isoOrNull, MINUTE_MS } from '../core/time.ts'
import type { Queryable } from '../db/database.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { inTransaction, withStore } from './tool.ts'

interface KeyOptions {
  /** Of a database with one account may be left out. */
  readonly account?: string
  readonly name: string
  /** Of a test account may be left out: its key gets all, for it moves no money. */
  readonly scopes?: string
  /** `90d`, `12h` or `30m` from now; never when absent. */
  readonly expires?: string
  /** Addresses and networks, comma-separated; anywhere when absent. */
  readonly allow?: string
}

export async function createKey(terminal: Terminal, given: KeyOptions): Promise<void> {
  const name = given.name.trim()
  if (name.length < 1 || name.length > 255)
    throw invalid('invalid_name', `a key's name has 1 to 255 characters, got ${name.length}`)
  const expiresAt = given.expires === undefined ? null : fromNow('--expires', given.expires)
  const allowedNetworks = given.allow === undefined ? [] : networksOf(given.allow)
  const made = await inTransaction(async (tx) => {
    const account = await chosenAccount(tx, given)
    const scopes = readScopes(given.scopes ?? defaultScopes(account))
    const key = await createApiKey(tx, {
      accountId: account.id,
      mode: account.mode,
      name,
      scopes,
      expiresAt,
      allowedNetworks,
    })
    const subject = showId('key', key.id)
    await recordCommand(tx, {
      accountId: account.id,
      action: 'key.create',
      subject,
      after: { name, scopes, expiresAt: isoOrNull(expiresAt), allowedNetworks },
    })
    return key
  })
  terminal.answer({ ...shown(made), key: made.key }, [
    made.key,
    `${showId('key', made.id)}  ${made.name}  ${made.scopes.join(',')}`,
    'This is the only time the key is shown.',
  ])
}

export async function showKeys(terminal: Terminal, given: Pick<KeyOptions, 'account'>): Promise<void> {
  const keys = await withStore(async ({ db }) => listApiKeys(db, (await chosenAccount(db, given)).id))
  terminal.answer(
    { keys: keys.map(shown) },
    table(
      keys.map((key) => [
        showId('key', key.id),
        `…${key.tail}`,
        stateOf(key),
        key.lastUsedAt ? `used ${key.lastUsedAt.toISOString().slice(0, 16)}Z` : 'never used',
        key.allowedNetworks.join(',') || 'from anywhere',
        key.name,
        key.scopes.join(','),
      ]),
      'This account has no key yet.',
    ),
  )
}

export async function revokeKey(terminal: Terminal, id: string): Promise<void> {
  const keyId = readId('key', id)
  const revoked = await inTransaction(async (tx) => {
    const owner = keyId && (await findApiKeyOwner(tx, keyId))
    if (!keyId || !owner) return null
    await recordCommand(tx, { accountId: owner, action: 'key.revoke', subject: id })
    return revokeApiKey(tx, owner, keyId)
  })
  if (!revoked)
    throw notFound(
      'key_not_found',
      `there is no key ${id}; \`npx beck keys list --account ID\` names them (key_…)`,
    )
  terminal.answer(shown(revoked), [`${id} is revoked; within five seconds nobody gets in with it.`])
}

/** Puts a new key in place of one, which goes on for as long as its servers take to be told. */
export async function rollKey(
  terminal: Terminal,
  id: string,
  given: { overlap: string; expires?: string },
): Promise<void> {
  const keyId = readId('key', id)
  const overlapUntil = fromNow('--overlap', given.overlap)
  const expiresAt = given.expires === undefined ? null : fromNow('--expires', given.expires)
  const made = await inTransaction(async (tx) => {
    const owner = keyId && (await findApiKeyOwner(tx, keyId))
    const account = owner && (await findAccount(tx, owner))
    if (!keyId || !account) return null
    const key = await rollApiKey(tx, {
      accountId: account.id,
      mode: account.mode,
      keyId,
      overlapUntil,
      expiresAt,
    })
    if (!key) return null
    const after = { replacedBy: showId('key', key.id), overlapUntil: overlapUntil.toISOString() }
    await recordCommand(tx, { accountId: account.id, action: 'key.roll', subject: id, after })
    return key
  })
  if (!made)
    throw notFound(
      'key_not_found',
      `there is no key ${id} that opens anything; \`npx beck keys list --account ID\` names them (key_…)`,
    )
  terminal.answer(
    { ...shown(made), key: made.key, replaces: id, overlap_until: overlapUntil.toISOString() },
    [
      made.key,
      `${showId('key', made.id)}  ${made.name}  ${made.scopes.join(',')}`,
      `It replaces ${id}, which opens nothing from ${overlapUntil.toISOString()} on.`,
      'This is the only time the key is shown.',
    ],
  )
}

const UNITS_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }

/** An instant so far from now, to the clock of this machine. */
function fromNow(option: string, text: string): Date {
  const [, count = '', unit = ''] = /^(\d{1,4})([mhd])$/.exec(text) ?? []
  const unitMs = UNITS_MS[unit]
  if (unitMs === undefined)
    throw invalid('invalid_duration', `${option} is minutes, hours or days such as 90d or 12h, got "${text}"`)
  return new Date(Date.now() + Number(count) * unitMs)
}

function networksOf(text: string): string[] {
  const networks = text.split(',').map((part) => part.trim())
  if (readNetworks(networks)) return networks
  throw invalid(
    'invalid_networks',
    `--allow is addresses or networks such as 203.0.113.7,2001:db8::/32, got "${text}"`,
  )
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`
  if (!expiresAt) return 'active'
  return `${expiresAt.getTime() > Date.now() ? 'until' : 'expired'} ${expiresAt.toISOString()}`
}

const chosenAccount = (db: Queryable, { account }: Pick<KeyOptions, 'account'>): Promise<Account> =>
  account === undefined ? onlyAccount(db) : accountOf(db, account)

/** @throws {Refusal} where there is none, or more than one to choose from. */
async function onlyAccount(db: Queryable): Promise<Account> {
  const accounts = await listAccounts(db)
  const [only] = accounts
  if (only && accounts.length === 1) return only
  throw invalid(
    'missing_account',
    accounts.length === 0
      ? 'there is no account yet: npx beck accounts create --name Shop --email shop@example.com --mode test'
      : `name the account with --account, one of: ${accounts.map(({ id, name }) => `${showId('acct', id)} (${name})`).join(', ')}`,
  )
}

function defaultScopes({ mode }: Account): string {
  if (mode === 'test') return 'all'
  throw invalid(
    'missing_scopes',
    `give the scopes a server needs with --scopes, such as payments:write,payments:read; there are: ${SCOPES.join(', ')}`,
  )
}

async function accountOf(db: Queryable, id: string) {
  const accountId: AccountId | null = readId('acct', id)
  const account = accountId && (await findAccount(db, accountId))
  if (!account)
    throw notFound(
      'account_not_found',
      `there is no account ${id}; \`npx beck accounts list\` names them (acct_…)`,
    )
  return account
}

const shown = (key: ApiKey) => ({
  id: showId('key', key.id),
  account_id: showId('acct', key.accountId),
  name: key.name,
  scopes: key.scopes,
  tail: key.tail,
  created_at: key.createdAt.toISOString(),
  revoked_at: isoOrNull(key.revokedAt),
  expires_at: isoOrNull(key.expiresAt),
  allowed_networks: key.allowedNetworks,
  last_used_at: isoOrNull(key.lastUsedAt),
})
