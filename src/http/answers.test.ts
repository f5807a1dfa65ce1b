/** Whom strangers can tell of a weakness, what is told to the operator alone, and who guesses keys. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { testApp, testKey, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { newApiKey } from '../accounts/api-key.ts'
import { freeze } from '../ledger/freezes.sql.ts'
import { readSecurityContact } from './security-contact.ts'
import { startServer } from './server.ts'

const gateway = await testGateway()
const merchant = await testMerchant(gateway.db)
const secure = {
  ...gateway,
  settings: { ...gateway.settings, publicUrl: 'https://pay.example.com' },
}

test('security.txt says whom to tell and until when that is good, and is not there when nobody was named', async () => {
  const path = '/.well-known/security.txt'
  const told = await testApp(secure, { securityContact: 'mailto:security@example.com' })
  const answer = await told.inject({ url: path })
  assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
  const fields = new Map(
    answer.body
      .trimEnd()
      .split('\n')
      .map((line) => line.split(': ', 2) as [string, string]),
  )
  assert.equal(fields.get('Contact'), 'mailto:security@example.com')
  assert.equal(fields.get('Canonical'), `https://pay.example.com${path}`)
  const days = (Date.parse(fields.get('Expires') ?? '') - Date.now()) / 86_400_000
  assert.ok(days > 60 && days < 365, `good for ${days} days`)
  const untold = await testApp(gateway)
  assert.equal((await untold.inject({ url: path })).statusCode, 404)
})

test('a contact is an email address or a URI that somebody can use', () => {
  assert.equal(readSecurityContact('security@example.com'), 'mailto:security@example.com')
  for (const good of ['mailto:a@b.example', 'https://example.com/security', 'tel:+1-201-555-0123'])
    assert.equal(readSecurityContact(good), good)
  for (const bad of ['http://example.com', 'javascript:alert(1)', 'call us', 'https://a\nExpires: x', ''])
    assert.equal(readSecurityContact(bad), null, bad)
})

test('strangers learn whether Beck is ready, and only the operator’s own listener why not', async () => {
  const monitor = { host: '127.0.0.1', port: 0, isChosen: true }
  const server = await startServer(gateway, { port: 0, host: '127.0.0.1', monitor })
  after(() => server.close())
  await freeze(gateway.db, 'sim-litecoin', 'LTC', 'the address ltc1secret holds 5 atoms more')
  const open = `http://127.0.0.1:${server.port}`
  const own = `http://127.0.0.1:${server.monitorPort}`
  const shown = (await (await fetch(`${open}/readyz`)).json()) as { data: object }
  assert.deepEqual(Object.keys(shown.data), ['status'])
  assert.equal((await fetch(`${open}/metrics`)).status, 404)
  assert.match(await (await fetch(`${own}/readyz`)).text(), /ltc1secret/)
  assert.match(await (await fetch(`${own}/metrics`)).text(), /^beck_ready 1$/m)
  assert.equal((await fetch(`${own}/livez`)).status, 200)
  assert.equal((await fetch(`${own}/v1/payments`)).status, 404)
})

test('a metrics port that nobody chose and another program has keeps nobody from starting', async () => {
  const first = await startServer(gateway, {
    port: 0,
    host: '127.0.0.1',
    monitor: { host: '127.0.0.1', port: 0, isChosen: true },
  })
  after(() => first.close())
  const port = first.monitorPort ?? assert.fail()
  const place = { host: '127.0.0.1', port }
  const second = await startServer(gateway, {
    port: 0,
    host: '127.0.0.1',
    monitor: { ...place, isChosen: false },
  })
  after(() => second.close())
  assert.equal(second.monitorPort, null)
  await assert.rejects(
    startServer(gateway, { port: 0, host: '127.0.0.1', monitor: { ...place, isChosen: true } }),
    /BECK_METRICS_PORT/,
  )
})

test('who guesses keys stands in the log with his address, and his guesses ask the database for nothing', async () => {
  const lines: Record<string, unknown>[] = []
  let lookups = 0
  const watched = {
    ...gateway,
    log: { ...gateway.log, info: (fields: object) => void lines.push({ ...fields }) },
    db: {
      ...gateway.db,
      query: ((text: string, ...rest: []) => {
        if (text.includes('api_keys')) lookups += 1
        return gateway.db.query(text, ...rest)
      }) as typeof gateway.db.query,
    },
  }
  const app = await testApp(watched, { trustProxy: '127.0.0.1' })
  const ask = async (key: string) => {
    const headers = { 'x-api-key': key, 'x-forwarded-for': '203.0.113.7' }
    return (await app.inject({ url: '/v1/payments', headers })).statusCode
  }
  for (let i = 0; i < 50; i++) assert.equal(await ask(newApiKey('test')), 401)
  const before = lookups
  for (let i = 0; i < 50; i++) assert.equal(await ask(newApiKey('test')), 429)
  assert.ok(lookups <= before + 1, `${lookups - before} look-ups`)
  const refused = lines.filter(({ status }) => status === 401 || status === 429)
  assert.equal(refused.length, 100)
  for (const { address } of refused) assert.equal(address, '203.0.113.7')
  // Nobody is locked out by a neighbour who guesses.
  assert.equal(await ask(merchant.key), 200)
  assert.equal(
    await ask(await testKey(gateway.db, merchant.account, ['payments:read'])),
    429,
    'until the next look',
  )
})
