/** What Node would join, drop or cut without a word is refused: sent as bytes, since no client of HTTP would. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test, { after, describe } from 'node:test'
import { type ApiAnswer, readAnswer, testMerchant, UNLIMITED } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { startServer } from './server.ts'

const gateway = await testGateway({ freshPerChain: 20 })
const server = await startServer(gateway, { port: 0, host: '127.0.0.1', rateLimit: UNLIMITED })
after(() => server.close())
const { key, account } = await testMerchant(gateway.db)
const other = await testMerchant(gateway.db)

interface Raw {
  readonly method?: string
  readonly path?: string
  readonly host?: readonly string[]
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
}

async function send({
  method = 'POST',
  path = '/payments',
  host = ['Host: shop.example'],
  headers = [],
  body = '',
}: Raw): Promise<ApiAnswer> {
  const socket = connect(server.port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const head = [`${method} /v1${path} HTTP/1.1`, ...host, ...headers, 'Connection: close']
  socket.write(`${head.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`)
  socket.write(body)
  await once(socket, 'close')
  const [top = '', text = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
  const type = /content-type: (.*)/i.exec(top)?.[1]
  return readAnswer(Number(top.split(' ')[1]), { 'content-type': type }, text)
}

const mine = `X-API-Key: ${key}`
const JSON_TYPE = 'Content-Type: application/json'
const payment = JSON.stringify({ asset: 'LTC', fiat_amount: 12.5 })
const countPayments = async () =>
  (await gateway.db.query('select from payments where account_id = $1', [account.id])).rowCount

describe('a header that decides is sent once', () => {
  const twice = [
    ['an Idempotency-Key', ['Idempotency-Key: a', 'idempotency-key: a'], 400, 'invalid_idempotency_key'],
    ['two of them', ['Idempotency-Key: a', 'IDEMPOTENCY-KEY: b'], 400, 'invalid_idempotency_key'],
    ['one and an empty one', ['Idempotency-Key: a', 'Idempotency-Key:'], 400, 'invalid_idempotency_key'],
    ['an X-API-Key', [mine.toLowerCase().replace(key.toLowerCase(), key)], 401, 'malformed_api_key'],
    ['two keys', [`X-Api-Key: ${other.key}`], 401, 'malformed_api_key'],
    ['a Content-Type', [JSON_TYPE], 415, 'unsupported_media_type'],
    ['two types', ['content-type: text/plain'], 415, 'unsupported_media_type'],
    ['a Host', ['Host: shop.example'], 400, 'malformed_request'],
    ['two hosts', ['host: other.example'], 400, 'malformed_request'],
  ] as const
  for (const [what, headers, status, reason] of twice)
    test(`${what}: refused when it comes twice`, async () => {
      const before = await countPayments()
      const answer = await send({ headers: [mine, JSON_TYPE, ...headers], body: payment })
      assert.deepEqual([answer.status, answer.error?.reason], [status, reason])
      assert.equal(await countPayments(), before)
    })

  test('Authorization: refused when it comes twice, the same or another', async () => {
    for (const second of [key, other.key]) {
      const headers = [`Authorization: Bearer ${key}`, `authorization: Bearer ${second}`, JSON_TYPE]
      const answer = await send({ headers, body: payment })
      assert.deepEqual([answer.status, answer.error?.reason], [401, 'malformed_api_key'])
    }
  })

  test('a key with a comma in it is one key, and other headers may come as often as they like', async () => {
    const headers = [
      mine,
      JSON_TYPE,
      'Idempotency-Key: a, a',
      'X-Any: 1',
      'X-Any: 2',
      'Accept: a',
      'Accept: b',
    ]
    const first = await send({ headers, body: payment })
    assert.equal(first.status, 201)
    assert.equal((await send({ headers, body: payment })).text, first.text)
  })

  test('it is read behind thousands of others too', async () => {
    const many = Array(2_500).fill('a:')
    const first = await send({
      headers: [...many, mine, JSON_TYPE, 'Idempotency-Key: far behind'],
      body: payment,
    })
    assert.equal(first.status, 201)
    const again = await send({ headers: [mine, JSON_TYPE, 'Idempotency-Key: far behind'], body: payment })
    assert.equal(again.text, first.text)
  })
})

test('a query of more parts than are read is refused: no filter is dropped', async () => {
  const ask = async (path: string) => {
    const { status, error } = await send({ method: 'GET', path, headers: [mine] })
    return [status, error?.reason]
  }
  assert.deepEqual(await ask(`/payments?${'&'.repeat(99)}`), [200, undefined])
  assert.deepEqual(await ask(`/payments?${'&'.repeat(98)}&filter_id=nothing`), [200, undefined])
  for (const path of ['/payments', '/customers', '/webhooks', '/events', '/balance'])
    assert.deepEqual(await ask(`${path}?${'&'.repeat(100)}filter_status=completed`), [400, 'invalid_request'])
  for (const page of ['/dashboard/sign-in', '/pay/nothing', '/checkout/nothing'])
    assert.equal((await fetch(`http://127.0.0.1:${server.port}${page}?${'&'.repeat(100)}`)).status, 400, page)
  const { error } = await send({ method: 'GET', path: `/payments#${'&'.repeat(100)}`, headers: [mine] })
  assert.deepEqual(error.details, [{ field: 'query', message: error.message }])
  // Those of a path are no parts of a query.
  assert.deepEqual(await ask(`/payments/${'&'.repeat(101)}`), [404, 'payment_not_found'])
})

describe('what a body says of itself', () => {
  const type = (parameters: string) => [`Content-Type: application/json${parameters}`]
  const encoded = (...encodings: string[]) => [
    JSON_TYPE,
    ...encodings.map((each) => `Content-Encoding: ${each}`),
  ]
  const BODIES: readonly (readonly [headers: readonly string[], refusal: RegExp | null])[] = [
    [encoded(''), null],
    [encoded('Identity'), null],
    [encoded('identity, identity'), null],
    [encoded('identity', 'identity'), null],
    [encoded('gzip'), /without the header Content-Encoding/],
    [encoded('identity, br'), /without the header Content-Encoding/],
    [encoded('identity', 'gzip'), /without the header Content-Encoding/],
    [encoded('xidentity'), /without the header Content-Encoding/],
    [type(';charset=UTF-8'), null],
    [type(' ; Charset = utf-8 ; q=1'), null],
    [type('; charset="utf8"'), null],
    [type(`; charset='utf-8'`), null],
    [type('; charset=us-ascii'), null],
    [type('; charset=ASCII'), null],
    [type('; charset='), null],
    [type('; charset=""'), null],
    [type('; charset'), null],
    [type('; title="a;charset=utf-16"'), null],
    [type('; title="a\\";charset=utf-16"'), null],
    [type(';'), null],
    [type('; charset=utf-16'), /in utf-16; send it in UTF-8/],
    [type('; q=1;charset="ISO-8859-1"'), /in UTF-8/],
    [type('; charset=utf-8; charset=utf-7'), /in utf-7/],
    [type('; title="a;charset=utf-8";charset=utf-16'), /in utf-16/],
    [type(`; charset='latin1'`), /in UTF-8/],
    [type('; charset=utf-8x'), /in UTF-8/],
  ]
  for (const [headers, refusal] of BODIES)
    test(`${headers.join(', ')} is ${refusal ? 'refused' : 'taken'}`, async () => {
      const answer = await send({ headers: [mine, ...headers], body: payment })
      const wanted = refusal ? [415, 'unsupported_media_type'] : [201, undefined]
      assert.deepEqual([answer.status, answer.error?.reason], wanted)
      if (refusal) assert.match(answer.error.message, refusal)
    })

  test('without a body its type is asked of nobody', async () => {
    const { id } = (await send({ headers: [mine, JSON_TYPE], body: payment })).data
    const hook = JSON.stringify({ url: 'https://shop.example/hook', events: ['payment.created'] })
    const endpoint = (await send({ path: '/webhooks', headers: [mine, JSON_TYPE], body: hook })).data.id
    const form = 'application/x-www-form-urlencoded'
    for (const [path, type, status] of [
      [`/webhooks/${endpoint}/enable`, form, 200],
      [`/webhooks/${endpoint}/rotate`, 'text/plain; charset=utf-16', 200],
      [`/payments/${id}/accept`, 'nonsense', 409],
      [`/payments/${id}/cancel`, form, 200],
    ] as const) {
      const answer = await send({ path, headers: [mine, `Content-Type: ${type}`] })
      assert.equal(answer.status, status, `${path} ${type} ${answer.text}`)
    }
  })
})
