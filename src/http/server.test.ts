import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test, { after } from 'node:test'
import { call, readAnswer, testApp, testMerchant, UNLIMITED } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { openDatabase } from '../db/database.ts'
import { startServer } from './server.ts'

const gateway = await testGateway()
const server = await startServer(gateway, { port: 0, host: '127.0.0.1', rateLimit: UNLIMITED })
after(() => server.close())
const { key } = await testMerchant(gateway.db)
const base = `http://127.0.0.1:${server.port}/v1`

/** Sends bytes as they are and returns the whole answer. */
async function raw(bytes: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.write(bytes)
  await once(socket, 'close')
  return answer
}

for (const [what, bytes, status] of [
  ['that is no HTTP', 'hello\r\n\r\n', 400],
  ['with a broken header', 'GET /v1/payments HTTP/1.1\r\nHost: x\r\nbroken header\r\n\r\n', 400],
  [
    'with headers of 20 kB',
    `GET /v1/payments HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    431,
  ],
  [
    'with two lengths',
    'POST /v1/payments HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na',
    400,
  ],
] as const) {
  test(`a request ${what} is answered with ${status} in the envelope`, async () => {
    const answer = await raw(bytes)
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const type = /content-type: (.*)/i.exec(head)?.[1]
    if (body === '') return
    const { error } = readAnswer(status, { 'content-type': type?.trim() }, body)
    assert.equal(/x-request-id: (.*)/i.exec(head)?.[1]?.trim(), error.request_id)
  })
}

test('a payment is created over a real connection', async () => {
  const response = await fetch(`${base}/payments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ asset: 'LTC', fiat_amount: 5 }),
  })
  const text = await response.text()
  readAnswer(response.status, Object.fromEntries(response.headers), text)
  assert.equal(response.status, 201)
})

test('HEAD answers as GET does, without a body', async () => {
  const response = await fetch(`${base}/payments`, { method: 'HEAD', headers: { 'x-api-key': key } })
  assert.equal(response.status, 200)
  assert.equal(await response.text(), '')
})

test('closing lets a running request end, and its connection with it', async () => {
  const closing = await startServer(gateway, { port: 0, host: '127.0.0.1', rateLimit: UNLIMITED })
  const url = `http://127.0.0.1:${closing.port}/v1/payments`
  const answer = fetch(url, { headers: { 'x-api-key': key } })
  await once(closing.app.server, 'request')
  const startedAtMs = performance.now()
  await closing.close()
  assert.ok(performance.now() - startedAtMs < 10_000, 'the client would keep it open for longer')
  assert.equal((await answer).status, 200)
  await assert.rejects(fetch(url))
})

test('a connection that never asked for anything does not hold up closing', async () => {
  const quick = await startServer(gateway, { port: 0, host: '127.0.0.1' })
  const socket = connect(quick.port, '127.0.0.1')
  await Promise.all([once(quick.app.server, 'connection'), once(socket, 'connect')])
  const ended = once(socket.resume(), 'close')
  const began = performance.now()
  await quick.close()
  await ended
  assert.ok(performance.now() - began < 20_000, 'Node alone would wait for a minute')
})

test('one who sent what cannot be read and never ends his side is not kept', async () => {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.write('\0 no request at all\r\n\r\n')
  await once(socket.resume(), 'end')
  const closed = once(socket, 'close')
  // Written until the server answers that nobody listens.
  const speaking = setInterval(() => socket.write('x'), 50)
  await closed.catch(() => {}).finally(() => clearInterval(speaking))
})

test('only the proxies that are trusted say whose address it is', async () => {
  const trusting = await testApp(gateway, { trustProxy: '127.0.0.1' })
  const doubting = await testApp(gateway)
  const attempts = async (app: typeof trusting, address: string) => {
    const headers = { 'x-forwarded-for': address, 'x-api-key': 'bk_test_wrong' }
    return (await call(app, null, 'GET', '/payments', { headers })).status
  }
  for (let i = 0; i < 60; i++) assert.equal(await attempts(trusting, `192.0.2.${i}`), 401)
  for (let i = 0; i < 50; i++) assert.equal(await attempts(doubting, `192.0.2.${i}`), 401)
  assert.equal(await attempts(doubting, '192.0.2.60'), 429)
})

test('a database that is not there is a 503, not a 500', async () => {
  const db = openDatabase({ url: 'postgres://nobody:secret@127.0.0.1:1/none' })
  after(() => db.close())
  const app = await testApp({ ...gateway, db })
  const answer = await call(app, key, 'GET', '/payments')
  assert.deepEqual([answer.status, answer.error.reason], [503, 'temporarily_unavailable'])
  assert.match(answer.error.message, /the database behind this API does not answer/)
  assert.doesNotMatch(answer.text, /secret|127\.0\.0\.1/)
})

for (const [what, state, told] of [
  ['whose disk is full', '53100', /has no room on its disk/],
  ['that is out of memory', '53200', /too busy/],
  ['that was told to stop', '57P01', /does not answer, as while it starts again/],
  ['that starts', '57P03', /does not answer, as while it starts again/],
  ['that may only read', '25006', /takes no writes/],
] as const) {
  test(`a database ${what} is a 503 that says when to come back, not a 500`, async () => {
    const raising: typeof gateway.db = {
      ...gateway.db,
      transaction: (_work, options) =>
        gateway.db.transaction(async (tx) => {
          await tx.query(`do $$ begin raise exception sqlstate '${state}'; end $$`)
          return assert.fail('nothing was raised')
        }, options),
    }
    const app = await testApp({ ...gateway, db: raising })
    const body = { label: 'Tea', amount: 5 }
    const answer = await call(app, key, 'POST', '/payment-links', { body })
    assert.deepEqual([answer.status, answer.error.reason], [503, 'temporarily_unavailable'])
    assert.match(answer.error.message, told)
    assert.match(answer.error.message, /try again shortly, with the same Idempotency-Key/)
    assert.equal(answer.headers['retry-after'], '5')
  })
}
