/**
 * Thousands of hostile requests to every operation of `/openapi.json`, over real connections: none is answered with 5xx,
 * and every answer is an envelope of the schema, and for a reason, that the document gives for its status.
 *
 * `BECK_FUZZ_RUNS` sets the requests for each operation, `BECK_FUZZ_SEED` repeats a run.
 */
import assert from 'node:assert/strict'
import { Agent, type IncomingMessage, request } from 'node:http'
import test, { after, describe } from 'node:test'
import fc from 'fast-check'
import { Compile } from 'typebox/schema'
import { testMerchant, UNLIMITED } from '../../test/api.ts'
import { testCause, testGateway } from '../../test/gateway.ts'
import { post } from '../ledger/post.sql.ts'
import { reconcile } from '../proof/reconcile.ts'
import { storeFeeRates } from '../treasury/fee-rates.sql.ts'
import type { OpenApiDocument, Operation } from './openapi.ts'
import { startServer } from './server.ts'

const RUNS = Number(process.env.BECK_FUZZ_RUNS ?? 100)
const SEED = Number(process.env.BECK_FUZZ_SEED ?? Date.now() % 2 ** 31)

const gateway = await testGateway({
  freshPerChain: RUNS * 2,
  chains: ['sim-bitcoin', 'sim-litecoin', 'sim-ethereum'],
})
const server = await startServer(gateway, { port: 0, host: '127.0.0.1', rateLimit: UNLIMITED })
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
after(async () => {
  agent.destroy()
  await server.close()
})
const merchant = await testMerchant(gateway.db)
const stranger = await testMerchant(gateway.db)

interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | null
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

const send = ({ method, path, headers, body }: Request): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ port: server.port, method, path, agent, headers }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const { statusCode = 0, headers: received } = incoming
        resolve({ status: statusCode, headers: received, text: Buffer.concat(chunks).toString() })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body ?? undefined)
  })

const sendJson = (key: string, method: string, path: string, body?: unknown) =>
  send({
    method,
    path: `/v1${path}`,
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  })

const document = (await (
  await fetch(`http://127.0.0.1:${server.port}/openapi.json`)
).json()) as OpenApiDocument

// What the requests may name: one of each resource, of the caller and of a stranger.

async function makeOneOfEach(key: string): Promise<string[]> {
  const made = async (path: string, body: unknown) => {
    const { status, text } = await sendJson(key, 'POST', path, body)
    assert.ok(status < 300, text)
    return JSON.parse(text).data.id as string
  }
  return [
    await made('/payments', { asset: 'LTC', fiat_amount: 10, customer_email: 'ann@shop.example' }),
    await made('/webhooks', { url: 'https://shop.example/hook', events: ['payment.created'] }),
    await made('/payment-links', { label: 'Tea', amount: 5 }),
    await made('/checkout/sessions', { amount: 5 }),
    JSON.parse((await sendJson(key, 'GET', '/customers')).text).data.items[0].id,
  ]
}
const ids = [...(await makeOneOfEach(merchant.key)), ...(await makeOneOfEach(stranger.key))]
for (const chain of ['sim-bitcoin', 'sim-litecoin', 'sim-ethereum'] as const)
  await storeFeeRates(gateway.db, chain, { rate: 1_000n, priorityRate: 10n })
await gateway.db.transaction((tx) =>
  post(tx, {
    accountId: merchant.account.id,
    chain: 'sim-litecoin',
    cause: testCause('funds'),
    transfers: [{ asset: 'LTC', debit: 'wallet', credit: 'available', atoms: 10_000_000_000n }],
  }),
)

// The funds came from nowhere, which the proof tells; nothing else may come to it.
const before = (await reconcile(gateway.db, [])).differences
assert.equal(before.length, 1)

// The hostile parts.

const NASTY = [
  '', ' ', '0', '-1', '1e308', '1e-308', 'NaN', 'Infinity', '9223372036854775808', '0x10', '٣', "' or 1=1 --",
  "'; drop table payments; --", '$1', '%', '_', '\\', '\\x00', '\u0000', '\ud800', '\u202e\u200b\ufeff', '𝒶🏳️‍🌈',
  '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', `{{7*7}}$${'{7*7}'}`, '../../etc/passwd', '__proto__',
  'constructor', 'toString', 'null', 'true', '[]', '{}', 'http://169.254.169.254/', 'javascript:alert(1)',
  'https://user:pass@[::1]:0/', '2026-02-30', '+275760-09-13T00:00:00.001Z', '0000-01-01',
  '9999-12-31T23:59:59.999999999+14:00', 'latest', 'asc', 'x'.repeat(300), 'x'.repeat(5_000), 'é'.repeat(254),
] // biome-ignore format: a list
const NUMBERS = [0, -0, -1, 0.1 + 0.2, 1e21, 1e300, 5e-324, 2 ** 53, -(2 ** 63), 0.005, 1.005, 99.999]
const NAMES = ['__proto__', 'constructor', 'prototype', 'toJSON', 'then', '', 'id', 'status', 'account_id']

const nastyText = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.constantFrom(...ids),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 300 }),
)
const nastyNumber = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
)
const nastyName = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 10 }))
const nastyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    nastyText,
    nastyNumber,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(nastyName, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value

/** Percent-escapes bytes, so that halves of surrogate pairs and NUL characters travel too. */
const percent = (value: string): string =>
  Array.from(Buffer.from(value), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** As it may stand in a path or a query: escaped, or broken escapes and reserved characters as they are. */
const nastyPart = fc.oneof(
  { weight: 8, arbitrary: nastyText.map(percent) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('%', '%zz', '%ff%fe', '%c0%af', '%00', '..', '.', '%2e%2e', '%2f', ';', '//', '\\', '*', '[]', '{}', '"', '|', '^', '\xff'),
  },
) // biome-ignore format: a list

const idFor = fc.oneof({ weight: 1, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: nastyPart })

const schemaOf = (operation: Operation) => {
  const content = (operation.requestBody as { content?: Record<string, { schema?: unknown; example?: unknown }> } | undefined)?.content?.['application/json'] // biome-ignore format: long
  const schema = content?.schema as { properties?: Record<string, unknown> } | undefined
  return { fields: Object.keys(schema?.properties ?? {}), example: (content?.example ?? {}) as Record<string, unknown> }
} // biome-ignore format: long

const parametersOf = (operation: Operation) =>
  operation.parameters as readonly { name?: string; in?: string; schema?: { enum?: string[] } }[]

/** Fields of the operation, each with its example's value, a hostile one, or missing; sometimes one of another name. */
function bodies(operation: Operation) {
  const { fields, example } = schemaOf(operation)
  const known = fc.record(
    Object.fromEntries(
      fields.map((field) => [
        field,
        field in example
          ? fc.oneof({ weight: 4, arbitrary: fc.constant(example[field]) }, nastyValue)
          : nastyValue,
      ]),
    ),
    { requiredKeys: [] },
  )
  const json = fc.oneof(
    { weight: 8, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, nastyName, nastyValue).map(([object, name, value]) => ({ ...object, [name]: value })) },
    { weight: 1, arbitrary: nastyValue },
  ) // biome-ignore format: long
  return fc.oneof(
    { weight: 20, arbitrary: json.map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: nastyText },
    { weight: 1, arbitrary: json.map((value) => `\ufeff${JSON.stringify(value)}`) },
    { weight: 1, arbitrary: json.map((value) => JSON.stringify(value).replace(/[\d.]+/, '1e400')) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constantFrom('['.repeat(30_000), `{"metadata":${'{"a":'.repeat(500)}1${'}'.repeat(501)}`, `{"x":"${'x'.repeat(70_000)}"}`, 'x'.repeat(66_000)) },
    { weight: 1, arbitrary: fc.constant(null) },
  ) // biome-ignore format: long
}

function queries(operation: Operation) {
  const names = parametersOf(operation).flatMap(({ name, in: place }) => (place === 'query' && name ? [name] : []))
  const name = fc.oneof(
    { weight: names.length > 0 ? 9 : 0, arbitrary: fc.constantFrom(...names, 'page') },
    { weight: 1, arbitrary: nastyName.map(percent) },
    { weight: 1, arbitrary: nastyPart },
  )
  const pair = fc.tuple(name, nastyPart).map(([left, right]) => `${left}=${right}`)
  const pairs = fc.array(pair, { maxLength: 4 })
  return fc
    .tuple(pairs, fc.constantFrom('&', '&', '&', '&&', ';', '&=&'), fc.boolean())
    .map(([all, between, twice]) => (twice ? [...all, ...all] : all).join(between))
} // biome-ignore format: long

const key = fc.oneof(
  { weight: 30, arbitrary: fc.constant({ 'x-api-key': merchant.key }) },
  { weight: 10, arbitrary: fc.constant({ authorization: `Bearer ${merchant.key}` }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      {},
      { 'x-api-key': 'bk_test_x' },
      { authorization: 'Basic x' },
      { 'x-api-key': merchant.key, authorization: `Bearer ${stranger.key}` },
    ),
  },
)
const contentType = fc.oneof(
  { weight: 20, arbitrary: fc.constant('application/json') },
  { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json; charset=utf-16', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'APPLICATION/JSON', 'x', ';', '') },
) // biome-ignore format: long
/** Header values are latin1. */
const idempotencyKey = fc.oneof(
  { weight: 8, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: fc.integer({ max: 20, min: 1 }).map((n) => `key-${n}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', ' ', 'x'.repeat(255), 'x'.repeat(256), '\xff', "';--", 'a  b'),
  },
)

const hostile = (path: string, method: string, operation: Operation): fc.Arbitrary<Request> =>
  fc
    .record({
      ids: fc.array(idFor, { minLength: 2, maxLength: 2 }),
      query: fc.oneof({ weight: method === 'get' ? 4 : 1, arbitrary: queries(operation) }, { weight: 2, arbitrary: fc.constant('') }),
      body: method === 'get' ? fc.constant(null) : bodies(operation),
      key,
      contentType,
      idempotencyKey,
      encoding: fc.oneof({ weight: 30, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom('gzip', 'x') }),
    })
    .map((parts) => {
      const [first = 'x', second = 'x'] = parts.ids
      const filled = path.replace(/\{\w+\}/, () => first).replace(/\{\w+\}/, () => second)
      return {
        method: method.toUpperCase(),
        path: `/v1${filled}${parts.query === '' ? '' : `?${parts.query}`}`,
        headers: {
          ...parts.key,
          ...(parts.body === null ? {} : { 'content-type': parts.contentType }),
          ...(parts.body === null || parts.encoding === null ? {} : { 'content-encoding': parts.encoding }),
          ...(parts.idempotencyKey === null ? {} : { 'idempotency-key': parts.idempotencyKey }),
        },
        body: parts.body,
      }
    }) // biome-ignore format: long

// What the document allows as an answer.

interface Response {
  readonly $ref?: string
  readonly description: string
  readonly content: { readonly 'application/json': { readonly schema: object } }
}

/** Puts what the document refers to in the place of the reference. */
function resolved<T>(node: T): T {
  if (Array.isArray(node)) return node.map(resolved) as T
  if (typeof node !== 'object' || node === null) return node
  const reference = '$ref' in node ? String(node.$ref) : null
  if (reference?.startsWith('#/')) {
    const steps = reference.slice(2).split('/')
    const found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document)
    return resolved(found) as T
  }
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, resolved(value)])) as T
}

function checker(operation: Operation) {
  const allowed = new Map(
    Object.entries(resolved(operation.responses) as Record<string, Response>).map(([status, response]) => [
      Number(status),
      {
        validator: Compile(response.content['application/json'].schema),
        reasons: [...response.description.matchAll(/`([a-z0-9_]+)`/g)].map(([, reason]) => reason),
      },
    ]),
  )
  return (sent: Request, { status, headers, text }: Answer): void => {
    const story = `${sent.method} ${sent.path.slice(0, 500)} ${JSON.stringify(sent.headers)} ${String(sent.body).slice(0, 500)} -> ${status} ${text}`
    assert.ok(status < 500, story)
    assert.match(String(headers['content-type']), /^application\/json; charset=utf-8$/, story)
    const envelope = JSON.parse(text)
    // A hostile id may lead to where nothing is.
    if (envelope.error?.reason === 'unknown_route') {
      assert.equal(status, 404, story)
      return
    }
    const documented = allowed.get(status)
    assert.ok(documented, `an undocumented status: ${story}`)
    const [fits, errors] = documented.validator.Errors(envelope)
    assert.ok(fits, `${story}\n${JSON.stringify(errors)}`)
    if (envelope.error) assert.ok(documented.reasons.includes(envelope.error.reason), `an undocumented reason: ${story}`)
  } // biome-ignore format: long
}

describe('hostile requests', { concurrency: 2 }, () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      test(`${method.toUpperCase()} ${path} withstands ${RUNS}`, async (t) => {
        t.diagnostic(`seed ${SEED}`)
        const check = checker(operation)
        await fc.assert(
          fc.asyncProperty(hostile(path, method, operation), async (sent) => check(sent, await send(sent))),
          { numRuns: RUNS, seed: SEED },
        )
      })
    }
  }
})

test('what was tried left the books balanced and touched nothing of the stranger', async () => {
  assert.deepEqual((await reconcile(gateway.db, [])).differences, before)
  const { rows } = await gateway.db.query<{ resources: bigint; withdrawals: bigint }>(
    `select (select count(*) from payments where account_id = $1 and status = 'pending')
         + (select count(*) from webhook_endpoints where account_id = $1 and deleted_at is null and is_active)
         + (select count(*) from payment_links where account_id = $1 and is_active)
         + (select count(*) from customers where account_id = $1) as resources,
       (select count(*) from withdrawals where account_id = $1) as withdrawals`,
    [stranger.account.id],
  )
  assert.deepEqual(rows[0], { resources: 4n, withdrawals: 0n })
})
