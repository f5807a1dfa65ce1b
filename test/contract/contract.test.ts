/** Every row of the contract: what it answers, takes, refuses, who may call it, and whose it is. */
import assert from 'node:assert/strict'
import test, { before, describe } from 'node:test'
import { newApiKey } from '../../src/accounts/api-key.ts'
import { revokeApiKey } from '../../src/accounts/api-keys.sql.ts'
import { type ApiKeyId, newId, newPublicId, showId } from '../../src/core/ids.ts'
import { SCOPES as OUR_SCOPES, type Scope } from '../../src/core/scopes.ts'
import { routes } from '../../src/http/api/routes.ts'
import { post } from '../../src/ledger/post.sql.ts'
import { storeFeeRates } from '../../src/treasury/fee-rates.sql.ts'
import { call, type Merchant, testApp, testKey, testMerchant } from '../api.ts'
import { testCause, testGateway } from '../gateway.ts'
import { ENOUGH, OPERATIONS, type Operation, SCOPES } from './contract.ts'
import { misfits, type Shape } from './shapes.ts'

const base = await testGateway({ freshPerChain: 120 })
const gateway = { ...base, settings: { ...base.settings, webhookAllowPrivate: false } }
// Wrong keys are limited per address, so each of many comes from an address of its own.
const app = await testApp(gateway, { trustProxy: '127.0.0.1' })
let addresses = 0
const elsewhere = () => ({ 'x-forwarded-for': `2001:db8:${(addresses++).toString(16)}::1` })
const owner = await testMerchant(gateway.db)
const stranger = await testMerchant(gateway.db)
const keys = new Map<string, string>()
for (const scope of OUR_SCOPES) keys.set(scope, await testKey(gateway.db, owner.account, [scope]))

const nameOf = ({ method, path }: Operation) => `${method} ${path}`
type Prefix = 'pay' | 'cus' | 'whk' | 'plink'

/** What the id in the path begins with. */
const prefixOf = (path: string): Prefix | null => {
  const prefixes = { payments: 'pay', 'payment-links': 'plink', webhooks: 'whk', customers: 'cus' } as const
  const [, resource = '', id] = path.split('/')
  return id === '{id}' ? prefixes[resource as keyof typeof prefixes] : null
}
const unused = (prefix: Prefix) =>
  prefix === 'plink' ? showId(prefix, newPublicId(prefix)) : showId(prefix, newId(prefix))

/** A resource of the merchant's for the path of an operation. */
async function makeOne(merchant: Merchant, prefix: Prefix): Promise<string> {
  const make = async (operation: string, extra: object = {}) => {
    const path = operation.split(' ')[1] ?? ''
    const answer = await call(app, merchant.key, 'POST', path, { body: { ...ENOUGH[operation], ...extra } })
    assert.equal(answer.status, 201, answer.text)
    return answer.data.id as string
  }
  if (prefix === 'plink') return make('POST /payment-links')
  if (prefix === 'whk') return make('POST /webhooks')
  const payment = await make('POST /payments', { customer_email: 'ann@shop.example' })
  if (prefix === 'pay') return payment
  return (await call(app, merchant.key, 'GET', `/payments/${payment}`)).data.customers.id
}

const withId = (path: string, id: string) => path.replace('{id}', id)

/** Sends an operation so that it succeeds, unless told otherwise. */
async function send(
  operation: Operation,
  options: {
    key?: string | null
    body?: unknown
    query?: Record<string, string>
    headers?: Record<string, string>
    id?: string
  } = {},
) {
  const prefix = prefixOf(operation.path)
  const id = options.id ?? (prefix ? await makeOne(owner, prefix) : '')
  const body = options.body ?? ENOUGH[nameOf(operation)]
  return call(
    app,
    options.key === undefined ? owner.key : options.key,
    operation.method,
    withId(operation.path, id),
    {
      ...(body === undefined ? {} : { body }),
      ...(options.query ? { query: options.query } : {}),
      ...(options.headers ? { headers: options.headers } : {}),
    },
  )
}

before(async () => {
  for (const chain of ['sim-litecoin', 'sim-bitcoin', 'sim-ethereum'] as const)
    await storeFeeRates(gateway.db, chain, { rate: 10_000n, priorityRate: 100n })
  await gateway.db.transaction((tx) =>
    post(tx, {
      accountId: owner.account.id,
      chain: 'sim-litecoin',
      cause: testCause('funds'),
      transfers: [{ asset: 'LTC', debit: 'wallet', credit: 'available', atoms: 1_000_00000000n }],
    }),
  )
  // Something to list of each.
  for (const prefix of ['plink', 'whk', 'cus'] as const) await makeOne(owner, prefix)
  const withdrawal = OPERATIONS.find((operation) => nameOf(operation) === 'POST /withdrawals')
  assert.ok(withdrawal)
  assert.equal((await send(withdrawal)).status, 201)
})

test('the scopes and the operations are those of the contract, and nothing else calls itself of the contract', () => {
  assert.deepEqual([...OUR_SCOPES], SCOPES)
  const table = (rows: readonly { method: string; path: string; scope: string; status?: number }[]) =>
    rows.map(
      ({ method, path, scope, status }) =>
        `${method} ${path.replace(/:(\w+)/g, '{$1}')} ${scope} ${status ?? 200}`,
    )
  assert.deepEqual(table(routes.filter((route) => !route.ours)).sort(), table(OPERATIONS).sort())
})

for (const operation of OPERATIONS) {
  const { method, path, scope, status, shape, ours = {}, query = {}, body } = operation
  describe(nameOf(operation), () => {
    const prefix = prefixOf(path)

    test(`answers ${status} with every field of the contract`, async () => {
      const answer = await send(operation)
      assert.equal(answer.status, status, answer.text)
      const item: Shape = { ...shape, ...ours }
      const wanted: Shape =
        operation.answers === 'one'
          ? item
          : operation.answers === 'list'
            ? [item]
            : { items: [item], total: 'integer', page: 'integer', limit: 'integer', total_pages: 'integer' }
      assert.deepEqual(misfits(answer.data, wanted), [])
      const listed = operation.answers === 'page' ? answer.data.items : answer.data
      if (operation.answers !== 'one') assert.ok(listed.length > 0, 'nothing was listed')
      if (operation.answers === 'page')
        assert.deepEqual([answer.data.page, answer.data.limit], [1, 25], 'the defaults')
    })

    test(`needs ${scope}: 403 with every other scope`, async () => {
      for (const held of SCOPES) {
        const answer = await send(operation, { key: keys.get(held) ?? null })
        if (held === scope) assert.equal(answer.status, status, answer.text)
        else {
          assert.deepEqual(
            [answer.status, answer.error.code, answer.error.reason],
            [403, 'HTTP_403', 'missing_scope'],
          )
          assert.ok(answer.error.message.includes(scope))
        }
      }
    })

    test('takes the key in either header; 401 without a good one', async () => {
      const key = keys.get(scope) ?? ''
      for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }])
        assert.equal((await send(operation, { key: null, headers })).status, status)
      const revoked = await revokedKey(scope as Scope)
      const other = key.replace('bk_test_', 'bk_live_')
      for (const [bad, reason] of [
        ['', 'malformed_api_key'],
        ['nonsense', 'malformed_api_key'],
        [key.slice(0, -1), 'malformed_api_key'],
        [other, 'malformed_api_key'],
        [newApiKey('test'), 'unknown_api_key'],
        [newApiKey('live'), 'unknown_api_key'],
        [revoked, 'revoked_api_key'],
      ] as const) {
        for (const headers of [{ 'x-api-key': bad }, { authorization: `Bearer ${bad}` }]) {
          const answer = await send(operation, { key: null, headers: { ...elsewhere(), ...headers } })
          assert.deepEqual(
            [answer.status, answer.error.code, answer.error.reason],
            [401, 'HTTP_401', reason],
            bad,
          )
        }
      }
      const missing = await send(operation, { key: null })
      assert.deepEqual(
        [missing.status, missing.error.code, missing.error.reason],
        [401, 'HTTP_401', 'missing_api_key'],
      )
    })

    for (const [name, parameter] of Object.entries(query)) {
      test(`?${name}= takes what the contract allows and refuses the rest, by name`, async () => {
        for (const value of parameter.takes) {
          const answer = await send(operation, { query: { [name]: value } })
          assert.equal(answer.status, status, `${value}: ${answer.text}`)
          if (name === 'limit' || name === 'page') assert.equal(answer.data[name], Number(value))
        }
        for (const value of parameter.refuses) {
          const answer = await send(operation, { query: { [name]: value } })
          assert.equal(answer.status, 400, `${value}: ${answer.text}`)
          assert.equal(answer.error.details[0].field, name)
        }
        const twice = await call(app, owner.key, method, `${path}?${name}=1&${name}=1`)
        assert.deepEqual([twice.status, twice.error.details[0].field], [400, name])
      })
    }

    test('takes no other query field', async () => {
      for (const name of ['colour', '__proto__', 'limit[]', ...(query.page ? [] : ['page', 'limit'])]) {
        const id = prefix ? unused(prefix) : ''
        const answer = await call(app, owner.key, method, `${withId(path, id)}?${name}=1`, {
          ...(body ? { body: ENOUGH[nameOf(operation)] } : {}),
        })
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.error.details[0].field, name)
      }
    })

    for (const [name, field] of Object.entries(body ?? {})) {
      test(`"${name}" takes what the contract allows and refuses the rest, by name`, async () => {
        const enough = ENOUGH[nameOf(operation)] ?? {}
        const id = prefix ? await makeOne(owner, prefix) : ''
        const put = (value: unknown) => send(operation, { id, body: { ...enough, [name]: value } })
        for (const value of field.takes) {
          const answer = await put(value)
          assert.equal(answer.status, status, `${JSON.stringify(value)}: ${answer.text}`)
        }
        const refused = [
          ...field.refuses.map((value) => [400, value] as const),
          ...(field.declines ?? []).map((value) => [422, value] as const),
        ]
        for (const [code, value] of refused) {
          const answer = await put(value)
          assert.equal(answer.status, code, `${JSON.stringify(value)}: ${answer.text}`)
          const [detail] = answer.error.details
          assert.match(detail?.field ?? '', new RegExp(`^${name}(\\.|$)`), answer.text)
        }
        const { [name]: _, ...without } = { ...enough } as Record<string, unknown>
        const answer = await send(operation, { id, body: without })
        assert.equal(answer.status, field.required ? 400 : status, answer.text)
        if (field.required) assert.equal(answer.error.details[0].field, name)
      })
    }

    if (prefix) {
      test('answers 404 for an id that is unknown, malformed, or another account’s, and changes nothing', async () => {
        const id = await makeOne(owner, prefix)
        const live = await testMerchant(gateway.db, { mode: 'live' })
        for (const other of [unused(prefix), id.toUpperCase(), `${id}0`, `x${id}`, `${prefix}_`, 'x'])
          assert.equal((await send(operation, { id: other })).status, 404, other)
        for (const { key } of [stranger, live]) {
          const answer = await send(operation, { key, id, body: ENOUGH[nameOf(operation)] })
          assert.deepEqual([answer.status, answer.error.code, answer.data], [404, 'HTTP_404', null])
        }
        assert.equal((await send(operation, { id })).status, status)
      })
    }
  })
}

test('what one account made is in no list of another’s, nor of the same merchant’s live account', async () => {
  const live = await testMerchant(gateway.db, { mode: 'live', email: owner.account.email })
  for (const operation of OPERATIONS.filter(({ answers }) => answers !== 'one')) {
    for (const { key } of [stranger, live]) {
      const { data } = await send(operation, { key })
      assert.deepEqual(
        operation.answers === 'page' ? [data.items, data.total] : data,
        operation.answers === 'page' ? [[], 0] : [],
      )
    }
  }
  const { data } = await call(app, live.key, 'GET', '/balance')
  assert.equal(data.assets.find((entry: { asset: string }) => entry.asset === 'LTC').available_atoms, '0')
})

test('a live account takes no coin whose chain is not in sight, and moves nothing of the sandbox', async () => {
  const live = await testMerchant(gateway.db, { mode: 'live' })
  assert.match(live.key, /^bk_live_/)
  assert.match(owner.key, /^bk_test_/)
  for (const asset of ['BTC', 'LTC', 'ETH', 'USDC', 'USDT']) {
    const answer = await call(app, live.key, 'POST', '/payments', { body: { asset, fiat_amount: 10 } })
    assert.deepEqual([answer.status, answer.error.reason], [503, 'chain_unavailable'])
  }
  const id = await makeOne(owner, 'pay')
  for (const path of [`/sandbox/payments/${id}/pay`, '/sandbox/blocks', '/sandbox/reorg']) {
    const answer = await call(app, live.key, 'POST', path, { body: {} })
    assert.deepEqual([answer.status, answer.error.reason], [403, 'test_accounts_only'])
  }
})

test('other methods of the same paths are not there', async () => {
  for (const path of new Set(OPERATIONS.map((operation) => operation.path))) {
    const there = routes
      .filter((route) => route.path.replace(/:(\w+)/g, '{$1}') === path)
      .map((route) => String(route.method))
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'PUT'] as const) {
      if (there.includes(method)) continue
      const answer = await call(app, owner.key, method, withId(path, 'x'))
      // What stands in the place of an id may be one: GET /withdrawals/quote has no route, GET /payments/{id} has.
      assert.deepEqual([answer.status, answer.data], [404, null], `${method} ${path}: ${answer.text}`)
    }
  }
})

test('lists hold at most 100, withdrawals the 100 most recent, newest first', async () => {
  const many = await testMerchant(gateway.db)
  await Promise.all(
    Array.from({ length: 101 }, (_, index) =>
      call(app, many.key, 'POST', '/payment-links', { body: { label: `Link ${index}`, amount: 1 } }),
    ),
  )
  const page = async (query: Record<string, string>) =>
    (await call(app, many.key, 'GET', '/payment-links', { query })).data
  const [first, second] = [await page({ limit: '100' }), await page({ limit: '100', page: '2' })]
  assert.deepEqual([first.items.length, first.total, first.total_pages], [100, 101, 2])
  assert.deepEqual([second.items.length, second.total, second.page], [1, 101, 2])
  assert.equal((await page({})).items.length, 25)
  const ids = new Set([...first.items, ...second.items].map((item: { id: string }) => item.id))
  assert.equal(ids.size, 101)

  const withdraw = OPERATIONS.find((operation) => nameOf(operation) === 'POST /withdrawals')
  assert.ok(withdraw)
  for (let made = 0; made < 101; made++)
    assert.equal(
      (await send(withdraw, { body: { ...ENOUGH['POST /withdrawals'], amount: '0.1' } })).status,
      201,
    )
  const { data } = await call(app, owner.key, 'GET', '/withdrawals')
  assert.equal(data.length, 100)
  const times = data.map((item: { created_at: string }) => item.created_at)
  assert.deepEqual(times, times.toSorted().toReversed())
})

async function revokedKey(scope: Scope): Promise<string> {
  const key = await testKey(gateway.db, owner.account, [scope])
  const { rows } = await gateway.db.query<{ id: ApiKeyId }>(
    'select id from api_keys order by id desc limit 1',
  )
  assert.ok(rows[0] && (await revokeApiKey(gateway.db, owner.account.id, rows[0].id)))
  return key
}
