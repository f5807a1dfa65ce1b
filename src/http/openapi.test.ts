import assert from 'node:assert/strict'
import test from 'node:test'
import { Value } from 'typebox/value'
import { testApp } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { routes } from './api/routes.ts'
import { breakingChanges } from './breaking-changes.ts'
import { openApiDocument, operationId } from './openapi.ts'
import { referTo, withResources } from './openapi-resources.ts'
import { Envelope, Fields } from './schemas.ts'
import { Type } from './type.ts'

const document = openApiDocument(routes)
const clone = () => JSON.parse(JSON.stringify(document))

test('every operation of the contract that stands is there, with its scope and its success', () => {
  const table = new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [
        `${method.toUpperCase()} ${path}`,
        `${operation['x-scope']} ${Object.keys(operation.responses)[0]} ${operation['x-origin']}`,
      ]),
    ),
  )
  for (const [operation, expected] of [
    ['POST /payments', 'payments:write 201 contract'],
    ['GET /payments', 'payments:read 200 contract'],
    ['GET /payments/{id}', 'payments:read 200 contract'],
    ['POST /webhooks', 'webhooks:write 201 contract'],
    ['GET /webhooks', 'webhooks:read 200 contract'],
    ['DELETE /webhooks/{id}', 'webhooks:write 200 contract'],
    ['GET /customers', 'customers:read 200 contract'],
    ['GET /customers/{id}', 'customers:read 200 contract'],
    ['GET /balance', 'balance:read 200 contract'],
    ['POST /payments/{id}/cancel', 'payments:write 200 beck'],
    ['POST /payments/{id}/accept', 'payments:write 200 beck'],
  ] as const) {
    assert.equal(table.get(operation), expected, operation)
  }
})

for (const route of routes) {
  test(`the example of ${route.method} ${route.path} fits its schema`, () => {
    assert.ok(route.example, 'every route has an example')
    assert.deepEqual([...Value.Errors(route.data, route.example.data)], [])
    if (route.body) assert.deepEqual([...Value.Errors(route.body, route.example.body)], [])
  })
}

test('operations are named by their paths, and no two alike', () => {
  assert.equal(operationId('POST', '/payments'), 'createPayment')
  assert.equal(operationId('GET', '/payments'), 'listPayments')
  assert.equal(operationId('GET', '/payments/:id'), 'retrievePayment')
  assert.equal(operationId('POST', '/payments/:id/cancel'), 'cancelPayment')
  assert.equal(operationId('PATCH', '/payment-links/:id'), 'updatePaymentLink')
  assert.equal(operationId('POST', '/checkout/sessions'), 'createCheckoutSession')
  assert.equal(operationId('POST', '/withdrawals/quote'), 'quoteWithdrawal')
  assert.equal(operationId('DELETE', '/webhooks/:id'), 'deleteWebhook')
  assert.equal(operationId('GET', '/balance'), 'retrieveBalance')
  assert.equal(operationId('GET', '/webhooks/:id/deliveries'), 'listWebhookDeliveries')
  assert.equal(
    operationId('POST', '/webhooks/:id/deliveries/:delivery/redeliver'),
    'redeliverWebhookDelivery',
  )
  assert.equal(operationId('POST', '/points-of-sale'), 'createPointOfSale')
  assert.equal(operationId('GET', '/points-of-sale'), 'listPointsOfSale')
  assert.equal(operationId('GET', '/points-of-sale/:id'), 'retrievePointOfSale')
  assert.equal(operationId('POST', '/points-of-sale/:id/disable'), 'disablePointOfSale')
  const ids = routes.map((route) => operationId(route.method, route.path))
  assert.equal(new Set(ids).size, ids.length)
})

const BREAKING: [string, (changed: ReturnType<typeof clone>) => void, RegExp][] = [
  ['an operation that is gone', (d) => delete d.paths['/payments'].post, /^POST \/payments is gone$/],
  [
    'a parameter that is gone',
    (d) => d.paths['/payments'].get.parameters.shift(),
    /parameter query page is gone/,
  ],
  [
    'a lower limit',
    (d) => Object.assign(d.paths['/payments'].get.parameters[1].schema, { maximum: 50 }),
    /lower maximum/,
  ],
  [
    'a sort that is gone',
    (d) => d.paths['/payments'].get.parameters[2].schema.enum.pop(),
    /may no longer be created_at/,
  ],
  ['a field that became required', (d) => body(d).required.push('reference'), /reference became required/],
  ['a body field that is gone', (d) => delete body(d).properties.metadata, /metadata is gone/],
  [
    'a body field of another type',
    (d) => Object.assign(body(d).properties.fiat_amount, { type: 'string' }),
    /no longer be number/,
  ],
  ['a coin that is gone', (d) => body(d).properties.asset.enum.pop(), /no longer be USDT/],
  ['an answer field that is gone', (d) => delete answer(d).properties.deposit, /deposit is gone/],
  [
    'an answer field that may be null now',
    (d) => Object.assign(answer(d).properties.id, { type: ['string', 'null'] }),
    /may now be null/,
  ],
  ['an answer field that may be missing', (d) => answer(d).required.shift(), /may now be missing/],
  ['a status nobody knows', (d) => answer(d).properties.status.enum.push('lost'), /may now be lost/],
  [
    'another scope',
    (d) => Object.assign(d.paths['/payments'].post, { 'x-scope': 'balance:read' }),
    /another scope/,
  ],
]
const body = (d: ReturnType<typeof clone>) =>
  d.paths['/payments'].post.requestBody.content['application/json'].schema
const answer = (d: ReturnType<typeof clone>) => {
  const { data } = d.paths['/payments'].post.responses['201'].content['application/json'].schema.properties
  return d.components.schemas[data.$ref.replace('#/components/schemas/', '')]
}
for (const [what, change, expected] of BREAKING) {
  test(`${what} is a breaking change`, () => {
    const changed = clone()
    change(changed)
    const found = breakingChanges(document, changed)
    assert.ok(
      found.some((line) => expected.test(line)),
      found.join('\n'),
    )
  })
}

test('a resource that several answers show stands in the document once, with nothing lost', () => {
  const inPlace = withResources(clone())
  for (const route of routes) {
    const { responses } = inPlace.paths[route.path.replace(/:(\w+)/g, '{$1}')][route.method.toLowerCase()]
    const { schema } = responses[route.status ?? 200].content['application/json']
    assert.deepEqual(schema, untitled(JSON.parse(JSON.stringify(Envelope(route.data)))))
  }
  const shown = JSON.stringify(document)
  for (const name of ['Payment', 'Deposit', 'Withdrawal', 'PaymentLink', 'PointOfSale'])
    assert.ok(shown.split(`"#/components/schemas/${name}"`).length > 2, name)
  const [one, other] = [Type.String(), Type.Number()].map((type) => Fields({ type }, { title: 'Same' }))
  assert.throws(() => referTo({}, [one, other]), /two schemas are called Same/)
})

test('each schema is looked at once, however deep it stands: the first who asks for the document holds up nobody', () => {
  let deep: object = { type: 'string' }
  for (let depth = 0; depth < 60; depth++) deep = { inner: deep }
  assert.deepEqual(referTo({}, deep), deep)
  assert.deepEqual(withResources(deep), deep)
})

/** Without the titles of resources, which stand in the document as names. */
function untitled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(untitled)
  if (typeof value !== 'object' || value === null) return value
  const { title, ...others } = value as Record<string, unknown>
  const all = typeof title === 'string' ? others : value
  return Object.fromEntries(Object.entries(all).map(([name, member]) => [name, untitled(member)]))
}

test('what is kept for an Idempotency-Key, and nothing else, may say that it is given again', () => {
  const isReplayed = (response: object) =>
    'Idempotent-Replayed' in ((response as { headers?: object }).headers ?? {})
  for (const route of routes) {
    const operation = document.paths[route.path.replace(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()]
    const replayed = Object.entries(operation?.responses ?? {}).filter(([, response]) =>
      isReplayed(response as object),
    )
    const kept = ['200', '201', '404', '409', '422'].filter((status) => operation?.responses[status])
    assert.deepEqual(
      replayed.map(([status]) => status),
      route.method === 'POST' ? kept : [],
      operationId(route.method, route.path),
    )
  }
})

test('additions break nobody', () => {
  const changed = clone()
  changed.paths['/refunds'] = { get: {} }
  body(changed).properties.note = { type: 'string' }
  answer(changed).properties.note = { type: 'string' }
  answer(changed).required.push('note')
  body(changed).properties.reference.maxLength = 500
  changed.paths['/payments'].get.parameters.push({ name: 'q', in: 'query', required: false, schema: {} })
  assert.deepEqual(breakingChanges(document, changed), [])
})

test('the document and the reference are served to anybody, and the page loads nothing from anywhere', async () => {
  const app = await testApp(await testGateway())
  const served = await app.inject('/openapi.json')
  assert.deepEqual(served.json(), clone())
  const page = await app.inject('/docs')
  assert.equal(page.statusCode, 200)
  assert.match(String(page.headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-/)
  assert.doesNotMatch(
    page.body,
    /<script|src=|https?:\/\/(?!shop\.example|checkout)[a-z]+\.(?!example)[a-z]+\.(com|org|net)/,
  )
  for (const route of routes) assert.ok(page.body.includes(`id="${operationId(route.method, route.path)}"`))
})
