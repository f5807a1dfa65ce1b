import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import test, { after } from 'node:test'
import { type FastifyServerOptions, fastify } from 'fastify'
import { routes } from './api/routes.ts'
import { COMPILED_LATE } from './compile-late.ts'
import { Envelope } from './schemas.ts'

const require = createRequire(createRequire(import.meta.url).resolve('fastify'))

// A running Beck asks neither when it starts.
test('every schema of every route is one, and is compiled', () => {
  const check = require('@fastify/ajv-compiler')()({}, { customOptions: {} })
  const write = require('@fastify/fast-json-stringify-compiler')()({}, {})
  for (const route of routes) {
    const body = 'body' in route ? route.body : undefined
    for (const schema of [route.params, route.query, body]) if (schema) check({ schema })
    write({ schema: Envelope(route.data) })
  }
  assert.throws(() => check({ schema: { type: 'string', maxLength: 'three' } }), /schema is invalid/)
})

const fields = {
  type: 'object',
  required: ['count'],
  properties: {
    count: { type: 'integer', minimum: 1 },
    name: { type: ['string', 'null'], maxLength: 3 },
    at: { type: 'string', format: 'date-time' },
  },
  additionalProperties: false,
}

function appOf(options: FastifyServerOptions) {
  const customOptions = { coerceTypes: false, useDefaults: false, allErrors: true, verbose: true } as const
  const app = fastify({ ...options, ajv: { customOptions } })
  after(() => app.close())
  app.setErrorHandler((error, _request, reply) => {
    const { validation } = error as { validation?: unknown }
    reply.code(validation ? 400 : 500).send({ message: (error as Error).message, validation })
  })
  for (const url of ['/one', '/other'])
    app.post(
      url,
      {
        schema: {
          body: fields,
          querystring: { type: 'object', properties: { page: { type: 'string', pattern: '^\\d$' } } },
          response: { 200: fields },
        },
      },
      async ({ body }) => ({
        ...(body as object),
        ...(url === '/other' && { at: { not: 'a text' } }),
        secret: 'not in the schema',
      }),
    )
  return app
}

const late = appOf({ schemaController: { compilersFactory: COMPILED_LATE } })
const early = appOf({})

test('requests are checked and answers written as if all were compiled before', async () => {
  const bodies = [
    { count: 7 },
    { count: 7, name: null, at: '2026-01-01T00:00:00Z' },
    { count: 'seven' },
    { count: 0, name: 'four', at: 'today', more: 1 },
    {},
    [],
  ]
  const seen = new Set<number>()
  for (const turn of ['first', 'second'])
    for (const url of ['/one', '/other'])
      for (const page of ['7', 'x'])
        await Promise.all(
          bodies.map(async (payload) => {
            const request = { method: 'POST', url, payload, query: { page } } as const
            const [given, wanted] = await Promise.all([late.inject(request), early.inject(request)])
            assert.deepEqual([turn, given.statusCode, given.body], [turn, wanted.statusCode, wanted.body])
            seen.add(given.statusCode)
          }),
        )
  assert.deepEqual([...seen].sort(), [200, 400, 500])
})

const app = fastify({ schemaController: { compilersFactory: COMPILED_LATE } })
after(() => app.close())
app.get('/broken', { schema: { querystring: { type: 'nothing' } } }, async () => '')
app.get('/whole', { schema: { response: { 200: { type: 'string' } } } }, async () => 'whole')

test('a schema that is none fails its own requests, and says so', async () => {
  const { statusCode, body } = await app.inject('/broken')
  assert.equal(statusCode, 500)
  assert.match(body, /type must be/)
  assert.equal((await app.inject('/whole')).statusCode, 200)
})
