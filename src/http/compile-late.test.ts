import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import test, { after } from 'node:test'
import { fastify } from 'fastify'
import { routes } from './api/routes.ts'
import { COMPILED_LATE } from './compile-late.ts'
import { Envelope } from './schemas.ts'

const require = createRequire(import.meta.url)

// A running Beck asks neither when it starts.
test('every schema of every route is one, and is compiled', () => {
  const check = require('@fastify/ajv-compiler')()({}, { customOptions: { strictSchema: true } })
  const write = require('@fastify/fast-json-stringify-compiler')()({}, {})
  for (const route of routes) {
    const body = 'body' in route ? route.body : undefined
    for (const schema of [route.params, route.query, body]) if (schema) check({ schema })
    write({ schema: Envelope(route.data) })
  }
  assert.throws(() => check({ schema: { type: 'nothing' } }), /type/)
})

const app = fastify({ schemaController: { compilersFactory: COMPILED_LATE } })
after(() => app.close())
const count = { type: 'object', properties: { count: { type: 'integer' } }, additionalProperties: false }
app.post('/', { schema: { body: count, response: { 200: count } } }, async ({ body }) => ({
  ...(body as object),
  secret: 'not in the schema',
}))
app.get('/broken', { schema: { querystring: { type: 'nothing' } } }, async () => '')

const post = (payload: object) => app.inject({ method: 'POST', url: '/', payload })

test('requests are checked and answers written as if all were compiled before, each by its own schema', async () => {
  for (const turn of ['first', 'second']) {
    const good = await post({ count: 7 })
    assert.deepEqual([turn, good.statusCode, good.body], [turn, 200, '{"count":7}'])
    const bad = await post({ count: 'seven' })
    assert.equal(bad.statusCode, 400)
    assert.match(bad.json().message, /count must be integer/)
  }
})

test('a schema that is none fails its own requests, and says so', async () => {
  const { statusCode, body } = await app.inject('/broken')
  assert.equal(statusCode, 500)
  assert.match(body, /type must be/)
  assert.equal((await post({ count: 1 })).statusCode, 200)
})
