import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testKey, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { revokeApiKey } from '../accounts/api-keys.sql.ts'
import { OutsideFailure } from '../core/errors.ts'
import { SCOPES } from '../core/scopes.ts'
import { type Route, read, write } from './route.ts'
import { Fields } from './schemas.ts'
import { Type } from './type.ts'

const logged: { fields: { err?: unknown; request_id?: string }; message: string }[] = []
const note = (fields: object, message: string) => void logged.push({ fields, message })
const gateway = { ...(await testGateway()), log: { debug() {}, info() {}, warn: note, error: note } }

const failing = (path: `/${string}`, thrown: () => unknown): Route =>
  read(`GET ${path}`, {
    scope: 'balance:read',
    summary: 'fails',
    data: Fields({}),
    read: async () => {
      throw thrown()
    },
  })

const echo = write('POST /echo', {
  scope: 'payments:write',
  summary: 'echoes',
  recordedByRow: true,
  body: Fields({
    name: Type.String({ maxLength: 3 }),
    count: Type.Optional(Type.Integer({ minimum: 0 })),
    any: Type.Optional(Type.Unknown()),
  }),
  status: 201,
  data: Fields({ name: Type.String() }),
  write: async ({ body }) => ({ name: body.name }),
})

const app = await testApp(gateway, {
  routes: [
    echo,
    failing('/broken', () => new Error('secret of the house')),
    failing(
      '/outside',
      () => new OutsideFailure('node http://user:pass@10.0.0.1 is down', { retryable: true }),
    ),
  ],
})
const { account, key } = await testMerchant(gateway.db)

test('an unknown route answers 404 with or without a key, under /v1 and beside it', async () => {
  for (const path of ['/v1/nothing', '/nothing', '/', '//', '/v1/%2e%2e/etc']) {
    for (const caller of [key, null, 'bk_test_wrong']) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE'] as const) {
        const answer = await call(app, caller, method, path === '/' ? '//' : path)
        assert.equal(answer.status, 404)
        assert.equal(answer.error.reason, 'unknown_route')
      }
    }
  }
})

test('an unknown route answers 404 before anything of its body is looked at', async () => {
  for (const [type, payload] of [
    ['application/json', '{'],
    ['application/json', `"${'a'.repeat(70_000)}"`],
    ['text/plain', 'words'],
    ['nonsense', 'words'],
  ] as const) {
    const headers = { 'content-type': type }
    const answer = await call(app, null, 'POST', '/nothing', { text: payload, headers })
    assert.deepEqual([answer.status, answer.error.reason], [404, 'unknown_route'], type)
    assert.equal(answer.headers['x-request-id'], answer.error.request_id)
  }
  // Of a method that needs a body's type, without one.
  const { statusCode } = await app.inject({ method: 'QUERY' as 'GET', url: '/any/path' })
  assert.equal(statusCode, 404)
})

test('a path that is no text answers 400', async () => {
  const answer = await call(app, key, 'GET', '/v1/webhooks/%ZZ')
  assert.equal(answer.status, 400)
  assert.equal(answer.error.reason, 'malformed_url')
  assert.equal(answer.headers['x-request-id'], answer.error.request_id)
})

const WRONG_KEYS: [string, Record<string, string>, string][] = [
  ['no key', {}, 'missing_api_key'],
  ['an empty key', { 'x-api-key': '' }, 'malformed_api_key'],
  ['another word', { 'x-api-key': 'sk_test_123' }, 'malformed_api_key'],
  ['a key cut off', { 'x-api-key': key.slice(0, -1) }, 'malformed_api_key'],
  [
    'a key with a slip',
    { 'x-api-key': `${key.slice(0, 20)}${key[20] === 'A' ? 'B' : 'A'}${key.slice(21)}` },
    'malformed_api_key',
  ],
  ['basic authentication', { authorization: `Basic ${btoa(`${key}:`)}` }, 'malformed_api_key'],
  ['a bearer without a key', { authorization: 'Bearer' }, 'malformed_api_key'],
  ['a bearer that is no key', { authorization: 'Bearer nothing' }, 'malformed_api_key'],
  ['two different keys', { authorization: `Bearer ${key}`, 'x-api-key': `${key}x` }, 'malformed_api_key'],
]
for (const [what, headers, reason] of WRONG_KEYS) {
  test(`${what} is answered with 401, before anything of the request is read`, async () => {
    for (const [method, path, text] of [
      ['GET', '/webhooks?nonsense=1', undefined],
      ['POST', '/webhooks', '{'],
      ['DELETE', '/webhooks/none', undefined],
    ] as const) {
      const answer = await call(app, null, method, path, { headers, ...(text ? { text } : {}) })
      assert.equal(answer.status, 401)
      assert.equal(answer.error.code, 'HTTP_401')
      assert.equal(answer.error.reason, reason)
      assert.equal(answer.headers['www-authenticate'], 'Bearer')
    }
  })
}

test('a well-formed key that nobody has is answered with 401', async () => {
  const { newApiKey } = await import('../accounts/api-key.ts')
  const answer = await call(app, newApiKey('test'), 'GET', '/webhooks')
  assert.equal(answer.status, 401)
  assert.equal(answer.error.reason, 'unknown_api_key')
})

test('the key is taken from either header, or from both when they agree', async () => {
  for (const headers of [
    { 'x-api-key': key },
    { authorization: `Bearer ${key}` },
    { authorization: `bearer ${key}` },
    { authorization: `Bearer ${key}`, 'x-api-key': key },
  ]) {
    assert.equal((await call(app, null, 'GET', '/webhooks', { headers })).status, 200)
  }
})

test('403 comes before what is wrong with the path, the query and the body', async () => {
  const poor = await testKey(
    gateway.db,
    account,
    SCOPES.filter((scope) => !scope.startsWith('webhooks')),
  )
  for (const [method, path, text] of [
    ['GET', '/webhooks?nonsense=1', undefined],
    ['POST', '/webhooks', '{'],
    ['DELETE', '/webhooks/none', undefined],
  ] as const) {
    const answer = await call(app, poor, method, path, text ? { text } : {})
    assert.equal(answer.status, 403)
    assert.equal(answer.error.code, 'HTTP_403')
    assert.equal(answer.error.reason, 'missing_scope')
    assert.match(answer.error.message, /webhooks:(read|write)/)
  }
})

test('a revoked key stops within five seconds', async () => {
  const merchant = await testMerchant(gateway.db)
  assert.equal((await call(app, merchant.key, 'GET', '/webhooks')).status, 200)
  const { rows } = await gateway.db.query<{ id: never }>('select id from api_keys where account_id = $1', [
    merchant.account.id,
  ])
  assert.ok(rows[0])
  await revokeApiKey(gateway.db, merchant.account.id, rows[0].id)
  const revokedAt = Date.now()
  let answer = await call(app, merchant.key, 'GET', '/webhooks')
  while (answer.status === 200 && Date.now() - revokedAt < 5_000) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    answer = await call(app, merchant.key, 'GET', '/webhooks')
  }
  assert.equal(answer.status, 401)
  assert.equal(answer.error.reason, 'revoked_api_key')
})

test('a failure inside says nothing about itself and is logged with its cause under the request id', async () => {
  const answer = await call(app, key, 'GET', '/broken')
  assert.equal(answer.status, 500)
  assert.doesNotMatch(answer.text, /secret|stack|\.ts/)
  const line = logged.find(
    ({ fields }) => fields.err instanceof Error && fields.err.message === 'secret of the house',
  )
  assert.equal(line?.fields.request_id, answer.error.request_id)
  assert.equal(answer.headers['x-request-id'], answer.error.request_id)
})

test('what failed outside is answered with 503 and when to come back', async () => {
  const answer = await call(app, key, 'GET', '/outside')
  assert.equal(answer.status, 503)
  assert.equal(answer.headers['retry-after'], '5')
  assert.doesNotMatch(answer.text, /10\.0\.0\.1|pass/)
})

const BODIES: [string, string | Buffer, number, string, string?][] = [
  ['nothing', '', 400, 'invalid_request', 'body'],
  ['half an object', '{', 400, 'malformed_json'],
  ['two values', '{}{}', 400, 'malformed_json'],
  ['a comment', '{"name":"a"} // b', 400, 'malformed_json'],
  ['single quotes', "{'name':'a'}", 400, 'malformed_json'],
  ['a byte that is no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, 'malformed_json'],
  ['an array', '[]', 400, 'invalid_request', 'body'],
  ['null', 'null', 400, 'invalid_request', 'body'],
  ['a number', '1', 400, 'invalid_request', 'body'],
  ['no field', '{}', 400, 'invalid_request', 'name'],
  ['null for a string', '{"name":null}', 400, 'invalid_request', 'name'],
  ['a number for a string', '{"name":1}', 400, 'invalid_request', 'name'],
  ['a text for a number', '{"name":"a","count":"1"}', 400, 'invalid_request', 'count'],
  ['a fraction for a whole number', '{"name":"a","count":1.5}', 400, 'invalid_request', 'count'],
  ['too long a text', '{"name":"abcd"}', 400, 'invalid_request', 'name'],
  ['an unknown field', '{"name":"a","nome":"b"}', 400, 'invalid_request', 'nome'],
  ['__proto__', '{"name":"a","__proto__":{"count":1}}', 400, 'invalid_request', '__proto__'],
  ['constructor', '{"name":"a","constructor":{"prototype":{}}}', 400, 'invalid_request', 'constructor'],
  ['only __proto__', '{"__proto__":{"name":"a"}}', 400, 'invalid_request', 'name'],
  ['a NUL character', '{"name":"\\u0000"}', 400, 'invalid_text', 'name'],
  ['half a surrogate pair', '{"name":"\\ud800"}', 400, 'invalid_text', 'name'],
  ['a NUL character deep inside', '{"name":"a","any":[{"b":["\\u0000"]}]}', 400, 'invalid_text', 'any.0.b.0'],
  ['a NUL character in a key', '{"name":"a","any":{"\\u0000":1}}', 400, 'invalid_text', 'any'],
  ['deep nesting', `{"name":"a","any":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 400, 'nested_too_deep'],
  ['too much', `{"name":"${'a'.repeat(70_000)}"}`, 413, 'body_too_large'],
]
for (const [what, text, status, reason, field] of BODIES) {
  test(`a body with ${what} is answered with ${status}`, async () => {
    const answer = await call(app, key, 'POST', '/echo', { text })
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.error.reason, reason)
    if (field)
      assert.ok(
        answer.error.details.some((detail: { field: string }) => detail.field === field),
        answer.text,
      )
  })
}

test('every wrong field is named at once', async () => {
  const answer = await call(app, key, 'POST', '/echo', {
    body: { name: 'long name', count: -1, colour: 'red' },
  })
  assert.deepEqual(answer.error.details.map((detail: { field: string }) => detail.field).sort(), [
    'colour',
    'count',
    'name',
  ])
})

test('a body that is not JSON by its type is answered with 415', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/problem+json',
    'nonsense',
  ]) {
    const answer = await call(app, key, 'POST', '/echo', {
      text: '{"name":"a"}',
      headers: { 'content-type': type },
    })
    assert.equal(answer.status, 415, type)
  }
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  assert.equal((await call(app, key, 'POST', '/echo', { text: '{"name":"a"}', headers })).status, 201)
})

test('lengths are counted in characters, not in halves of them', async () => {
  assert.equal((await call(app, key, 'POST', '/echo', { body: { name: '𝒶𝒷𝒸' } })).status, 201)
  assert.equal((await call(app, key, 'POST', '/echo', { body: { name: '𝒶𝒷𝒸𝒹' } })).status, 400)
})

test('an unknown or doubled query field is named', async () => {
  for (const [path, field] of [
    ['/webhooks?colour=red', 'colour'],
    ['/webhooks?page=1&page=2', 'page'],
    ['/webhooks?__proto__=1', '__proto__'],
    ['/webhooks?page=', 'page'],
    ['/webhooks?page=1e1', 'page'],
    ['/webhooks?page=0', 'page'],
    ['/webhooks?limit=101', 'limit'],
    ['/webhooks?sort=secret_sealed', 'sort'],
    ['/webhooks?order=random', 'order'],
  ] as const) {
    const answer = await call(app, key, 'GET', path)
    assert.equal(answer.status, 400, path)
    assert.equal(answer.error.details[0]?.field, field)
  }
})
