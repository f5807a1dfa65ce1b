/** Thousands of hostile inputs over every row of the API: nothing answers 5xx, everything is an envelope as documented. */
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Value } from 'typebox/value'
import { call, testApp, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { routes } from './api/routes.ts'
import { refusalsOf } from './openapi.ts'
import type { Route } from './route.ts'
import { Envelope } from './schemas.ts'

const gateway = await testGateway({ freshPerChain: 4 })
const app = await testApp(gateway)
const { key } = await testMerchant(gateway.db)

const NASTY = [
  '',
  ' ',
  '0',
  '-1',
  '1e308',
  '1e-308',
  'NaN',
  'Infinity',
  '9223372036854775808',
  '0x10',
  '٣',
  "' or 1=1 --",
  "'; drop table payments; --",
  '$1',
  '%',
  '_',
  '\\',
  '\\x00',
  '\u0000',
  '\ud800',
  '\u202e\u200b\ufeff',
  '𝒶🏳️‍🌈',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  `{{7*7}}$${'{7*7}'}`,
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '[]',
  '{}',
  'http://169.254.169.254/',
  'javascript:alert(1)',
  'https://user:pass@[::1]:0/',
  '2026-02-30',
  '+275760-09-13T00:00:00.001Z',
  '0000-01-01',
  '9999-12-31T23:59:59.999999999+14:00',
  'x'.repeat(300),
  'x'.repeat(5_000),
]

const nastyText = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 300 }),
)
const nastyNumber = fc.oneof(
  fc.constantFrom(0, -0, -1, 0.1 + 0.2, 1e21, 1e300, 5e-324, 2 ** 53, -(2 ** 63), 0.005, 1.005, 99.999),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
)
const nastyKey = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toJSON', '', 'id', 'status'),
  fc.string({ maxLength: 10 }),
)
const nastyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    nastyText,
    nastyNumber,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(nastyKey, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value

/** Fields of the row, each with its example's value, a hostile one, or missing; and sometimes one of another name. */
function hostileObject(fields: readonly string[], good: Readonly<Record<string, unknown>>) {
  const known = fc.record(
    Object.fromEntries(
      fields.map((field) => [
        field,
        field in good ? fc.oneof({ weight: 3, arbitrary: fc.constant(good[field]) }, nastyValue) : nastyValue,
      ]),
    ),
    { requiredKeys: [] },
  )
  return fc.oneof(
    { weight: 8, arbitrary: known },
    {
      weight: 1,
      arbitrary: fc
        .tuple(known, nastyKey, nastyValue)
        .map(([object, name, value]) => ({ ...object, [name]: value })),
    },
    { weight: 1, arbitrary: nastyValue },
  )
}

const fieldsOf = (schema: unknown): string[] =>
  Object.keys((schema as { properties?: Record<string, unknown> } | undefined)?.properties ?? {})

const RUNS = 120

for (const route of routes) {
  test(`${route.method} ${route.path} withstands ${RUNS} hostile inputs`, async () => {
    const bodies = hostileObject(fieldsOf(route.body), (route.example?.body ?? {}) as Record<string, unknown>)
    const queries = fc.dictionary(
      fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fieldsOf(route.query), 'page') }, nastyKey),
      nastyText,
      { maxKeys: 3, noNullPrototype: true },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          id: nastyText,
          query: fc.oneof({ weight: route.method === 'GET' ? 1 : 0, arbitrary: queries }, fc.constant({})),
          body: bodies,
          broken: fc.option(nastyText, { freq: 10 }),
        }),
        async ({ id, query, body, broken }) => {
          const search = Object.entries(query).map(([name, value]) => `${percent(name)}=${percent(value)}`)
          const path = `/v1${route.path.replace(':id', () => percent(id) || 'x')}${search.length > 0 ? `?${search.join('&')}` : ''}`
          const text = broken ?? JSON.stringify(body)
          const answer = await call(app, key, route.method, path, route.method === 'GET' ? {} : { text })
          check(route, answer.status, answer.text)
        },
      ),
      { numRuns: RUNS },
    )
  })
}

/** Percent-escapes bytes, so that halves of surrogate pairs and NUL characters travel too. */
const percent = (value: string): string =>
  Array.from(Buffer.from(value), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

function check(route: Route, status: number, text: string): void {
  const documented = refusalsOf(route).map(([code]) => code)
  if (status === (route.status ?? 200)) {
    assert.deepEqual([...Value.Errors(Envelope(route.data), JSON.parse(text))], [], text)
    return
  }
  assert.ok(status !== 500, text)
  // A path that is not one of the API's rows any more, such as an empty id.
  assert.ok(
    documented.includes(status) || (status === 404 && route.params),
    `${status} is not documented: ${text}`,
  )
}
