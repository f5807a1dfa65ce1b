/**
 * A key that somebody stole, tried from outside on a Beck that runs: from foreign addresses, with forged headers, after its
 * end, after it was rolled and after it was revoked. 127.0.0.2 is the shop; whoever else asks is the thief.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type OutgoingHttpHeaders, request } from 'node:http'
import test from 'node:test'
import { createApiKey } from '../../src/accounts/api-keys.sql.ts'
import { readId, showId } from '../../src/core/ids.ts'
import { testInstallation } from '../installation.ts'
import { waitFor } from '../wait-for.ts'

const SHOP = '127.0.0.2'
const THIEF = '127.0.0.3'
const PROXY = '127.0.0.4'

const installation = await testInstallation()
const { account, db } = installation
const accountId = showId('acct', account.id)
const beck = await installation.start({ BECK_TRUST_PROXY: PROXY })
const port = Number(new URL(beck.url).port)

type Verdict = readonly [status: number, reason: string | undefined]
const OPEN: Verdict = [200, undefined]
const ELSEWHERE: Verdict = [403, 'address_not_allowed']
const EXPIRED: Verdict = [401, 'expired_api_key']

async function ask(key: string, from: string, headers: OutgoingHttpHeaders = {}): Promise<Verdict> {
  const asking = request({
    port,
    host: '127.0.0.1',
    localAddress: from,
    path: '/v1/payments',
    headers: { 'x-api-key': key, ...headers },
    agent: false,
  })
  asking.end()
  const [answer] = await once(asking, 'response')
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return [answer.statusCode, JSON.parse(text).error?.reason]
}

interface MadeKey {
  readonly id: string
  readonly key: string
  readonly scopes: readonly string[]
  readonly allowed_networks: readonly string[]
}

const bound = (): Promise<MadeKey> =>
  installation.command(
    ...['keys', 'create', '--account', accountId, '--scopes', 'payments:read'],
    ...['--allow', `${SHOP}/32,2001:db8:1::/48`, '--expires', '1h'],
  )

test('a key bound to networks opens nothing to a thief elsewhere, whatever his request says of where it comes from', async () => {
  const { key } = await bound()
  assert.deepEqual(await ask(key, SHOP), OPEN)
  assert.deepEqual(await ask(key, THIEF), ELSEWHERE)
  assert.deepEqual(await ask(key, '127.0.0.1'), ELSEWHERE, 'the machine itself is nothing special')
  for (const name of ['x-forwarded-for', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip'])
    assert.deepEqual(await ask(key, THIEF, { [name]: SHOP }), ELSEWHERE, name)
  assert.deepEqual(await ask(key, THIEF, { forwarded: `for=${SHOP}` }), ELSEWHERE)
})

test('behind the proxy it is the address that the proxy saw, and nothing the thief wrote before it', async () => {
  const { key } = await bound()
  const through = (forwarded: string) => ask(key, PROXY, { 'x-forwarded-for': forwarded })
  assert.deepEqual(await through(SHOP), OPEN)
  assert.deepEqual(await through('2001:db8:1:ffff::7'), OPEN)
  assert.deepEqual(await through('2001:db8:2::7'), ELSEWHERE)
  assert.deepEqual(await through(`${SHOP}, 198.51.100.9`), ELSEWHERE)
  assert.deepEqual(await through(`${SHOP}, ${THIEF}, ${PROXY}`), ELSEWHERE)
  assert.deepEqual(await through('nonsense'), ELSEWHERE)
  assert.deepEqual(await ask(key, PROXY), ELSEWHERE, 'the proxy itself is not the shop')
})

test('a key ends at its instant, in a server that let it in a moment before', async () => {
  const expiresAt = new Date(Date.now() + 1_500)
  const { key } = await createApiKey(db, {
    accountId: account.id,
    mode: account.mode,
    name: 'short',
    scopes: ['payments:read'],
    expiresAt,
  })
  let opened = 0
  let verdict = OPEN
  while (verdict[0] === 200) {
    const askedAtMs = Date.now()
    verdict = await ask(key, THIEF)
    if (verdict[0] !== 200) break
    opened += 1
    assert.ok(askedAtMs < expiresAt.getTime(), 'it was opened after its end')
  }
  assert.deepEqual(verdict, EXPIRED)
  assert.ok(Date.now() >= expiresAt.getTime(), 'and not before')
  assert.ok(opened > 0)
})

test('a rolled key ends with its overlap; its successor is bound to the same networks and can no more', async () => {
  const old = await bound()
  const next = await installation.command('keys', 'roll', old.id, '--overlap', '1h')
  assert.deepEqual([next.scopes, next.allowed_networks], [old.scopes, old.allowed_networks])
  for (const key of [old.key, next.key]) {
    assert.deepEqual(await ask(key, SHOP), OPEN)
    assert.deepEqual(await ask(key, THIEF), ELSEWHERE)
  }
  const last = await installation.command('keys', 'roll', next.id, '--overlap', '0m')
  await waitFor('the rolled one ends', async () => (await ask(next.key, SHOP))[0] === 401 || null)
  assert.deepEqual(await ask(next.key, SHOP), EXPIRED)
  assert.deepEqual(await ask(last.key, SHOP), OPEN)
  assert.deepEqual(await ask(last.key, THIEF), ELSEWHERE)
})

test('a revoked key opens nothing within five seconds, and who used it when stays to be seen', async () => {
  const { id, key } = await bound()
  assert.deepEqual(await ask(key, SHOP), OPEN)
  await installation.command('keys', 'revoke', id)
  const revokedAtMs = performance.now()
  await waitFor('it is refused', async () => (await ask(key, SHOP))[0] === 401 || null)
  assert.ok(performance.now() - revokedAtMs < 5_000)
  assert.deepEqual(await ask(key, SHOP), [401, 'revoked_api_key'])
  await beck.process.stop()
  const { rows } = await db.query<{ used: boolean }>(
    'select last_used_at is not null as used from api_keys where id = $1',
    [readId('key', id)],
  )
  assert.deepEqual(rows, [{ used: true }])
  const { rows: asked } = await db.query<{ address: string; status: number }>(
    'select distinct address, status from api_requests where key_id = $1 order by status',
    [readId('key', id)],
  )
  assert.deepEqual(asked, [{ address: SHOP, status: 200 }])
})
