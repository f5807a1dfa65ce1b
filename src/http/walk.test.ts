/** Walks every row of the API: keys, scopes, foreign ids, and what is refused before a handler runs. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, type Merchant, testApp, testKey, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { type IdPrefix, newId, newPublicId, showId } from '../core/ids.ts'
import { SCOPES } from '../core/scopes.ts'
import { routes } from './api/routes.ts'
import { refusalsOf } from './openapi.ts'
import { type Route, scopesOf } from './route.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const owner = await testMerchant(gateway.db)
const stranger = await testMerchant(gateway.db)

/** The prefix of the id in a route's path. */
const prefixOf = (route: Route): IdPrefix | null => {
  const id = (route.params as { properties?: { id?: { description?: string } } } | undefined)?.properties?.id
  return (id?.description?.match(/`([a-z]+)_`/)?.[1] as IdPrefix | undefined) ?? null
}

function unusedId(prefix: IdPrefix): string {
  return prefix === 'cs' || prefix === 'plink' || prefix === 'pos'
    ? showId(prefix, newPublicId(prefix))
    : showId(prefix, newId(prefix))
}

const pathOf = (route: Route, id?: string): string =>
  route.path.replace(':id', id ?? unusedId(prefixOf(route) ?? 'pay'))

const bodyOf = (route: Route): { body?: unknown } =>
  route.method === 'GET' || route.body === undefined ? {} : { body: route.example?.body ?? {} }

/** One of each resource that has an id, made by `owner` through the API; what has no way to be made stays absent. */
async function makeOneOfEach(merchant: Merchant): Promise<Partial<Record<IdPrefix, string>>> {
  const post = async (path: string, body: unknown) =>
    (await call(app, merchant.key, 'POST', path, { body })).data?.id as string | undefined
  const pay = await post('/payments', { asset: 'LTC', fiat_amount: 10, customer_email: 'a@b.example' })
  const cus = (await call(app, merchant.key, 'GET', `/payments/${pay}`)).data.customers.id
  const whk = await post('/webhooks', { url: 'https://shop.example/hook', events: ['payment.completed'] })
  const plink = await post('/payment-links', { label: 'Tea', amount: 5 })
  const pos = await post('/points-of-sale', { name: 'Counter' })
  return { ...(pay && { pay }), cus, ...(whk && { whk }), ...(plink && { plink }), ...(pos && { pos }) }
}
const made = await makeOneOfEach(owner)

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
  readonly items?: Schema
  readonly maxItems?: number
  readonly maxLength?: number
  readonly enum?: readonly unknown[]
}

/** Fields of what comes in whose size nothing bounds but that of the whole request. */
function unbounded(schema: Schema | undefined, path = ''): [field: string, bounds: string][] {
  if (!schema) return []
  const types = [schema.type].flat()
  // What a merchant keeps with a payment is open, and measured by a rule of its own (`metadata_too_large`).
  if (path === '.metadata') return []
  const found: [string, string][] = []
  if (types.includes('string') && !schema.enum && schema.maxLength === undefined)
    found.push([path, 'maxLength'])
  if (types.includes('array') && schema.maxItems === undefined) found.push([path, 'maxItems'])
  if (types.includes('object') && schema.additionalProperties !== false)
    found.push([path, 'end of its fields'])
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    found.push(...unbounded(inner, `${path}.${name}`))
  return [...found, ...unbounded(schema.items, `${path}[]`)]
}

for (const route of routes) {
  const name = `${route.method} ${route.path}`

  test(`${name} needs a key, and ${scopesOf(route).join(' and ')} alone is enough`, async () => {
    assert.equal((await call(app, null, route.method, pathOf(route), bodyOf(route))).status, 401)
    for (const needed of scopesOf(route)) {
      const others = await testKey(
        gateway.db,
        stranger.account,
        SCOPES.filter((scope) => scope !== needed),
      )
      const refused = await call(app, others, route.method, pathOf(route), bodyOf(route))
      const { code, reason } = refused.error
      assert.deepEqual([refused.status, code, reason], [403, 'HTTP_403', 'missing_scope'])
      assert.match(refused.error.message, new RegExp(needed))
    }
    const enough = await testKey(gateway.db, stranger.account, scopesOf(route))
    const answer = await call(app, enough, route.method, pathOf(route), bodyOf(route))
    assert.ok(![401, 403].includes(answer.status), answer.text)
  })

  test(`${name} refuses an unknown query field`, async () => {
    const answer = await call(app, owner.key, route.method, `${pathOf(route)}?colour=red`, bodyOf(route))
    assert.deepEqual([answer.status, answer.error.details[0]?.field], [400, 'colour'])
  })

  test(`${name} costs no more than its bounds: texts have a length, lists a number of items, objects their fields`, () => {
    for (const schema of [route.query, route.method === 'GET' ? undefined : route.body]) {
      for (const [field, bounds] of unbounded(schema)) assert.fail(`${field} has no ${bounds}`)
    }
  })

  if (route.method !== 'GET') {
    test(`${name} refuses 32,000 values before it looks at them`, async () => {
      const many = `[${'1,'.repeat(31_999)}1]`
      const known = Object.keys((route.body as { properties?: object } | undefined)?.properties ?? {})
      for (const field of [...known, 'unknown']) {
        const answer = await call(app, owner.key, route.method, pathOf(route), {
          text: `{"${field}":${many}}`,
        })
        assert.deepEqual([answer.status, answer.error.reason], [400, 'too_many_values'], field)
      }
    })

    test(`${name} refuses a body that is no JSON object, has an unknown field, is too long or of another type`, async () => {
      const send = async (text: string, headers: Record<string, string> = {}) =>
        (await call(app, owner.key, route.method, pathOf(route), { text, headers })).status
      assert.equal(await send('{'), 400)
      assert.equal(await send('[]'), 400)
      assert.equal(await send('"text"'), 400)
      assert.equal(await send(JSON.stringify({ ...(route.example?.body as object), colour: 'red' })), 400)
      assert.equal(await send(`{"colour":"${'x'.repeat(70_000)}"}`), 413)
      assert.equal(await send('a=b', { 'content-type': 'application/x-www-form-urlencoded' }), 415)
    })
  }

  const prefix = prefixOf(route)
  if (prefix) {
    test(`${name} answers 404 for an id that is unknown, malformed, of another kind, or another account's`, async () => {
      const others = ['nonsense', '..', '%00', `${prefix}_`, `${prefix}_${'0'.repeat(26)}`, 'x'.repeat(500)]
      const foreign = made[prefix]
      if (['pay', 'cus', 'whk', 'plink', 'pos'].includes(prefix)) assert.ok(foreign)
      for (const id of [unusedId(prefix), ...others, ...(foreign ? [foreign, foreign.toUpperCase()] : [])]) {
        const answer = await call(app, stranger.key, route.method, pathOf(route, id), bodyOf(route))
        assert.equal(answer.status, 404, `${id}: ${answer.text}`)
      }
    })
  }

  test(`${name} says in the document what it answers`, async () => {
    const statuses = refusalsOf(route).map(([status]) => status)
    for (const status of [400, 401, 403, 429, 500]) assert.ok(statuses.includes(status))
    if (prefix) assert.ok(statuses.includes(404))
    assert.ok(route.example, 'every row has an example')
  })
}
