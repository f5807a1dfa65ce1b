import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { readAccountDraft } from './account.ts'
import { findAccount, hasLiveAccount, insertAccount, listAccounts } from './accounts.sql.ts'
import { parseApiKey } from './api-key.ts'
import { createApiKey, findApiKey, findApiKeyOwner, listApiKeys, revokeApiKey } from './api-keys.sql.ts'

const db = await testDatabase()
const draft = { name: 'Shop', email: 'shop@example.com', mode: 'test', currency: 'EUR' } as const

test('an account is found again as it was made', async () => {
  const account = await insertAccount(db, draft)
  assert.deepEqual({ ...account, ...draft }, account)
  assert.deepEqual(await findAccount(db, account.id), account)
  assert.deepEqual(await listAccounts(db), [account])
  assert.equal(await hasLiveAccount(db), false)
  assert.equal(await findAccount(db, newId('acct')), null)
})

test('a live account is noticed', async () => {
  await insertAccount(db, { ...draft, mode: 'live' })
  assert.equal(await hasLiveAccount(db), true)
})

test('a draft with a wrong field is refused and the field named', () => {
  assert.deepEqual(readAccountDraft({ ...draft, name: ' Shop ', currency: 'eur' }), draft)
  for (const [field, value] of [
    ['name', ''],
    ['name', 'x'.repeat(256)],
    ['email', 'nobody'],
    ['email', `${'x'.repeat(250)}@example.com`],
    ['mode', 'prod'],
    ['currency', 'CHF'],
  ] as const) {
    assert.throws(
      () => readAccountDraft({ ...draft, [field]: value }),
      (error) => error instanceof Refusal && error.details[0]?.field === field,
    )
  }
})

test('only the hash of a key is stored, and it finds account, mode and scopes', async () => {
  const account = await insertAccount(db, draft)
  const made = await createApiKey(db, {
    accountId: account.id,
    mode: account.mode,
    name: 'server',
    scopes: ['payments:read', 'balance:read'],
  })
  const hash = parseApiKey(made.key)?.hash
  assert.ok(hash)
  assert.deepEqual(await findApiKey(db, hash), {
    accountId: account.id,
    keyId: made.id,
    name: made.name,
    mode: 'test',
    scopes: ['payments:read', 'balance:read'],
    madeBy: null,
    revokedAt: null,
    expiresAt: null,
    allowedNetworks: [],
  })
  const { rows } = await db.query<{ row: string }>('select api_keys::text as row from api_keys')
  assert.ok(rows.every(({ row }) => !row.includes(made.key.slice(8, 40))))
  const { key: _, ...shown } = made
  assert.deepEqual(await listApiKeys(db, account.id), [shown])
})

test('a key is revoked once, only by its own account', async () => {
  const account = await insertAccount(db, draft)
  const stranger = await insertAccount(db, draft)
  const made = await createApiKey(db, {
    accountId: account.id,
    mode: 'test',
    name: 'x',
    scopes: ['balance:read'],
  })
  assert.equal(await findApiKeyOwner(db, made.id), account.id)
  assert.equal(await findApiKeyOwner(db, newId('key')), null)
  assert.equal(await revokeApiKey(db, stranger.id, made.id), null)
  const revoked = await revokeApiKey(db, account.id, made.id)
  assert.ok(revoked?.revokedAt)
  assert.deepEqual((await revokeApiKey(db, account.id, made.id))?.revokedAt, revoked.revokedAt)
  const hash = parseApiKey(made.key)?.hash
  assert.ok(hash)
  assert.ok((await findApiKey(db, hash))?.revokedAt)
})
