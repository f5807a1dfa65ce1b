/** Keys that expire, are rolled, are bound to networks, and show when they were last used. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { type ApiKeyDraft, createApiKey, listApiKeys, rollApiKey } from '../accounts/api-keys.sql.ts'
import { showId } from '../core/ids.ts'
import { HOUR_MS } from '../core/time.ts'

const gateway = await testGateway()
const { db } = gateway
const { account } = await testMerchant(db)
const app = await testApp(gateway, { trustProxy: '127.0.0.1' })

const keyOf = (more: Partial<ApiKeyDraft> = {}) =>
  createApiKey(db, {
    accountId: account.id,
    mode: account.mode,
    name: 'server',
    scopes: ['payments:read'],
    ...more,
  })

async function ask(key: string, from = '203.0.113.7', on = app): Promise<[number, string | undefined]> {
  const headers = { 'x-api-key': key, 'x-forwarded-for': from }
  const answer = await on.inject({ url: '/v1/payments', headers })
  return [answer.statusCode, answer.json().error?.reason]
}

test('a key opens nothing from the instant it expires, believed or not', async () => {
  const { key, id } = await keyOf({ expiresAt: new Date(Date.now() + HOUR_MS) })
  assert.deepEqual(await ask(key), [200, undefined])
  await db.query("update api_keys set expires_at = now() - interval '1 ms' where id = $1", [id])
  const fresh = await testApp(gateway)
  assert.deepEqual(await ask(key, undefined, fresh), [401, 'expired_api_key'])
  const soon = await keyOf({ expiresAt: new Date(Date.now() + 400) })
  assert.deepEqual(await ask(soon.key), [200, undefined])
  while (Date.now() <= Number(soon.expiresAt)) await new Promise(setImmediate)
  assert.deepEqual(await ask(soon.key), [401, 'expired_api_key'])
})

test('a revoked key opens nothing after two seconds, wherever the wall clock is set meanwhile', async (t) => {
  const { key, id } = await keyOf()
  const own = await testApp(gateway)
  assert.deepEqual(await ask(key, undefined, own), [200, undefined])
  await db.query('update api_keys set revoked_at = now() where id = $1', [id])
  const [wall, steady] = [Date.now.bind(Date), performance.now.bind(performance)]
  t.mock.method(Date, 'now', () => wall() - HOUR_MS)
  t.mock.method(performance, 'now', () => steady() + 2_000)
  assert.deepEqual(await ask(key, undefined, own), [401, 'revoked_api_key'])
})

test('a key bound to networks is refused from anywhere else', async () => {
  const { key } = await keyOf({ allowedNetworks: ['203.0.113.0/24', '2001:db8::/32'] })
  assert.deepEqual(await ask(key, '203.0.113.255'), [200, undefined])
  assert.deepEqual(await ask(key, '2001:db8:ffff::1'), [200, undefined])
  assert.deepEqual(await ask(key, '203.0.114.1'), [403, 'address_not_allowed'])
  assert.deepEqual(await ask(key, '203.0.113.255, 198.51.100.1'), [403, 'address_not_allowed'])
})

test('a key that is used where it is not bound to is told to the operator, with who used it', async () => {
  const lines: object[] = []
  const log = {
    ...gateway.log,
    info: (line: object) => lines.push(line),
    warn: (line: object) => lines.push(line),
  }
  const own = await testApp({ ...gateway, log }, { trustProxy: '127.0.0.1' })
  const { key, id } = await keyOf({ allowedNetworks: ['203.0.113.0/24'] })
  assert.equal((await ask(key, '198.51.100.1', own))[0], 403)
  const told = { key_id: showId('key', id), account_id: showId('acct', account.id), address: '198.51.100.1' }
  assert.deepEqual(lines[0], told)
  const { address, reason, status } = lines[1] as Record<string, unknown>
  assert.deepEqual([address, reason, status], ['198.51.100.1', 'address_not_allowed', 403])
  assert.ok(!JSON.stringify(lines).includes(key))
})

test('a rolled key goes on for the overlap, and its successor can what it could', async () => {
  const old = await keyOf({ allowedNetworks: ['203.0.113.0/24'] })
  const roll = (overlapUntil: Date, keyId = old.id, accountId = account.id) =>
    db.transaction((tx) => rollApiKey(tx, { accountId, mode: 'test', keyId, overlapUntil, expiresAt: null }))
  const until = new Date(Date.now() + HOUR_MS)
  const stranger = await testMerchant(db)
  assert.equal(await roll(until, old.id, stranger.account.id), null)
  const made = await roll(until)
  assert.deepEqual([made?.scopes, made?.allowedNetworks], [old.scopes, old.allowedNetworks])
  assert.deepEqual(await ask(old.key), [200, undefined])
  assert.deepEqual(await ask(made?.key ?? ''), [200, undefined])
  await roll(new Date(Date.now() + 2 * HOUR_MS))
  const kept = (await listApiKeys(db, account.id)).find(({ id }) => id === old.id)
  assert.deepEqual(kept?.expiresAt, until, 'a second roll does not let it live longer')
  assert.ok(await roll(new Date(Date.now() - 1)))
  assert.equal(await roll(until), null, 'what opens nothing is not rolled')
})

test('when a key was last used is written down for all at once, at the latest at the end', async () => {
  const own = await testApp(gateway)
  const [used, idle] = [await keyOf(), await keyOf()]
  const before = Date.now()
  for (let i = 0; i < 3; i++) await ask(used.key, undefined, own)
  const of = async (id: string) =>
    (await listApiKeys(db, account.id)).find((key) => key.id === id)?.lastUsedAt
  assert.equal(await of(used.id), null)
  await own.close()
  assert.ok(Number(await of(used.id)) >= before)
  assert.equal(await of(idle.id), null)
})

test('a key made a second ago is good where many wrong ones came from, and guesses cost the database little', async (t) => {
  const steady = performance.now.bind(performance)
  let [at, rosters] = [0, 0]
  t.mock.method(performance, 'now', () => at || steady())
  const counting = {
    ...db,
    query: ((...given: Parameters<typeof db.query>) => {
      if (String(given[0]).startsWith('select key_hash as hash')) rosters += 1
      return db.query(...given)
    }) as typeof db.query,
  }
  const own = await testApp({ ...gateway, db: counting }, { trustProxy: '127.0.0.1' })
  const stranger = await keyOf()
  await db.query('delete from api_keys where id = $1', [stranger.id])
  // Whole, or a second later may be a second less a rounding later.
  at = Math.ceil(steady())
  for (let count = 0; count < 50; count++) assert.equal((await ask(stranger.key, undefined, own))[0], 401)
  assert.equal((await ask(stranger.key, undefined, own))[0], 429)
  const { key } = await keyOf()
  for (let count = 0; count < 20; count++) assert.equal((await ask(stranger.key, undefined, own))[0], 429)
  assert.equal(rosters, 1)
  at += 1_000
  assert.deepEqual(await ask(key, undefined, own), [200, undefined])
  for (let count = 0; count < 20; count++) assert.equal((await ask(stranger.key, undefined, own))[0], 429)
  assert.equal(rosters, 2)
})
