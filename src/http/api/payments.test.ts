import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testMerchant } from '../../../test/api.ts'
import { testGateway } from '../../../test/gateway.ts'

const gateway = await testGateway({ freshPerChain: 80 })
const app = await testApp(gateway)
const { key, account } = await testMerchant(gateway.db)
const stranger = await testMerchant(gateway.db)

const create = (body: object, caller = key) => call(app, caller, 'POST', '/payments', { body })

test('a payment is created as the contract says', async () => {
  const before = Date.now()
  const { status, data } = await create({
    asset: 'LTC',
    fiat_amount: 100,
    reference: 'order-1',
    customer_email: 'a@b.example',
  })
  assert.equal(status, 201)
  assert.deepEqual(Object.keys(data).sort(), [
    'asset', 'confirmations', 'created_at', 'deposit', 'expires_at', 'fee_fiat', 'fiat_amount', 'fiat_currency', 'id',
    'metadata', 'net_fiat', 'network', 'reference', 'status',
  ]) // biome-ignore format: a list
  assert.match(data.id, /^pay_[0-9a-z]{26}$/)
  assert.deepEqual(
    [
      data.status,
      data.asset,
      data.network,
      data.fiat_currency,
      data.fiat_amount,
      data.fee_fiat,
      data.net_fiat,
    ],
    ['pending', 'LTC', 'litecoin', 'USD', 100, 1, 99],
  )
  assert.deepEqual([data.confirmations, data.reference], [0, 'order-1'])
  const { address, ...deposit } = data.deposit
  assert.deepEqual(deposit, {
    asset: 'LTC',
    network: 'litecoin',
    expected_amount: '1',
    expected_amount_atoms: '100000000',
    qr_data: `litecoin:${address}?amount=1`,
    payment_uri: `litecoin:${address}?amount=1`,
    status: 'pending',
    confirmations: 0,
    required_confirmations: 6,
    expires_at: data.expires_at,
  })
  assert.equal(Date.parse(data.expires_at) - Date.parse(data.created_at), 30 * 60_000)
  assert.ok(Math.abs(Date.parse(data.created_at) - before) < 10_000)

  const found = await call(app, key, 'GET', `/payments/${data.id}`)
  assert.equal(found.status, 200)
  const { customers, detected_at, completed_at, missing, deposits, refund_address, ...rest } = found.data
  assert.equal(refund_address, null)
  assert.deepEqual(rest, data)
  assert.equal(customers.email, 'a@b.example')
  assert.match(customers.id, /^cus_/)
  assert.deepEqual([detected_at, completed_at, missing, deposits], [null, null, null, []])
})

test('what the body leaves out has its default, on creation and on retrieval', async () => {
  const { data } = await create({ asset: 'BTC', fiat_amount: 650 })
  assert.deepEqual([data.fiat_currency, data.reference, data.metadata], ['USD', null, {}])
  assert.equal((await call(app, key, 'GET', `/payments/${data.id}`)).data.customers, null)
})

const CREATED: [string, string, string][] = [
  ['BTC', 'bitcoin', '0.0002'],
  ['LTC', 'litecoin', '0.13'],
  ['ETH', 'ethereum', '0.0052'],
  ['USDC', 'ethereum', '13'],
  ['USDT', 'ethereum', '13'],
]
for (const [asset, network, amount] of CREATED) {
  test(`thirteen dollars in ${asset} are ${amount} on ${network}`, async () => {
    const { status, data } = await create({ asset, fiat_amount: 13 })
    assert.equal(status, 201)
    assert.deepEqual([data.network, data.deposit.expected_amount], [network, amount])
  })
}

const good = { asset: 'LTC', fiat_amount: 10 }
const text = (length: number) => 'x'.repeat(length)
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, i]))
const REFUSED: [string, object, number, string, string][] = [
  ['no asset', { fiat_amount: 10 }, 400, 'invalid_request', 'asset'],
  ['an unknown asset', { ...good, asset: 'DOGE' }, 400, 'invalid_request', 'asset'],
  ['an asset in lower case', { ...good, asset: 'btc' }, 400, 'invalid_request', 'asset'],
  ['an asset called __proto__', { ...good, asset: '__proto__' }, 400, 'invalid_request', 'asset'],
  ['no amount', { asset: 'BTC' }, 400, 'invalid_request', 'fiat_amount'],
  ['an amount as text', { ...good, fiat_amount: '10' }, 400, 'invalid_request', 'fiat_amount'],
  ['an amount of zero', { ...good, fiat_amount: 0 }, 400, 'invalid_amount', 'fiat_amount'],
  ['a negative amount', { ...good, fiat_amount: -1 }, 400, 'invalid_amount', 'fiat_amount'],
  ['three decimals', { ...good, fiat_amount: 10.001 }, 400, 'invalid_amount', 'fiat_amount'],
  ['a tiny amount', { ...good, fiat_amount: 1e-9 }, 400, 'invalid_amount', 'fiat_amount'],
  ['a huge amount', { ...good, fiat_amount: 1e300 }, 400, 'invalid_amount', 'fiat_amount'],
  ['an amount below the minimum', { ...good, fiat_amount: 0.49 }, 422, 'amount_below_minimum', 'fiat_amount'],
  [
    'an amount above the maximum',
    { ...good, fiat_amount: 1_000_000.01 },
    422,
    'amount_above_maximum',
    'fiat_amount',
  ],
  ['an unknown currency', { ...good, fiat_currency: 'CHF' }, 400, 'invalid_request', 'fiat_currency'],
  ['null for a currency', { ...good, fiat_currency: null }, 400, 'invalid_request', 'fiat_currency'],
  ['a long reference', { ...good, reference: text(256) }, 400, 'invalid_request', 'reference'],
  ['a number for a reference', { ...good, reference: 7 }, 400, 'invalid_request', 'reference'],
  ['an email without @', { ...good, customer_email: 'nobody' }, 400, 'invalid_request', 'customer_email'],
  [
    'an email with a space',
    { ...good, customer_email: 'a b@c.de' },
    400,
    'invalid_request',
    'customer_email',
  ],
  [
    'a long email',
    { ...good, customer_email: `${text(250)}@b.de` },
    400,
    'invalid_request',
    'customer_email',
  ],
  ['metadata that is a list', { ...good, metadata: [] }, 400, 'invalid_request', 'metadata'],
  ['metadata that is null', { ...good, metadata: null }, 400, 'invalid_request', 'metadata'],
  ['51 keys', { ...good, metadata: keys(51) }, 400, 'metadata_too_large', 'metadata'],
  ['a key of 41', { ...good, metadata: { [text(41)]: 1 } }, 400, 'metadata_too_large', 'metadata'],
  ['a text of 501', { ...good, metadata: { a: text(501) } }, 400, 'metadata_too_large', 'metadata.a'],
  [
    'a nested text of 501',
    { ...good, metadata: { a: [{ b: text(501) }] } },
    400,
    'metadata_too_large',
    'metadata.a.0.b',
  ],
  [
    'more than 16 kB',
    { ...good, metadata: { a: Array(40).fill('x'.repeat(450)) } },
    400,
    'metadata_too_large',
    'metadata',
  ],
  ['a field of ours', { ...good, status: 'completed' }, 400, 'invalid_request', 'status'],
]
for (const [what, body, status, reason, field] of REFUSED) {
  test(`a payment with ${what} is refused with ${status} and leaves no trace`, async () => {
    // Of this merchant: the lists' own payments are made while these tests run.
    const count = async () =>
      (await gateway.db.query('select from payments where account_id = $1', [account.id])).rowCount
    const before = await count()
    const answer = await create(body)
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.error.reason, reason)
    assert.equal(answer.error.details[0].field, field)
    assert.equal(await count(), before)
  })
}

test('every bound holds at its edge', async () => {
  for (const body of [
    { ...good, fiat_amount: 0.5 },
    { ...good, fiat_amount: 1_000_000 },
    { ...good, fiat_amount: 0.57, reference: '𝒶'.repeat(255) },
    { ...good, customer_email: `${text(252)}@b` },
    { ...good, metadata: keys(50) },
    { ...good, metadata: { [text(40)]: text(500) } },
  ]) {
    const answer = await create(body)
    assert.equal(answer.status, 201, answer.text)
  }
})

const METADATA = [
  '{}',
  '{"a":12345678901234567890,"b":1.0,"c":1e400,"d":-0,"e":0.1000,"f":1E+2}',
  '{"a":true,"b":false,"c":null,"d":{"e":[1,[2,{"f":3.50}],"x"]},"":""}',
  '{"__proto__":{"a":1},"constructor":{"prototype":1.0},"toString":null,"hasOwnProperty":2}',
  '{"html":"<script>alert(1)</script>","sql":"\'; drop table payments; --","text":"é𝒶\\n\\"\\\\/"}',
]
for (const metadata of METADATA) {
  test(`metadata ${metadata} comes back exactly, when created, retrieved and announced`, async () => {
    const expected = `"metadata":${metadata}`
    const created = await call(app, key, 'POST', '/payments', {
      text: `{"asset":"LTC","metadata": ${metadata} ,"fiat_amount":10}`,
    })
    assert.equal(created.status, 201)
    assert.ok(created.text.includes(expected), created.text)
    const found = await call(app, key, 'GET', `/payments/${created.data.id}`)
    assert.ok(found.text.includes(expected), found.text)
    const { rows } = await gateway.db.query<{ body: string }>(
      'select body from events order by id desc limit 1',
    )
    assert.ok(rows[0]?.body.includes(expected))
  })
}

test("another account's payment is not found, whatever is asked of it", async () => {
  const { data } = await create(good)
  for (const id of [
    data.id,
    'pay_01k6v3d6yqf5bbt9xgk2v7p8rm',
    'pay_nonsense',
    data.id.replace('pay_', 'cus_'),
    `${data.id}0`,
  ]) {
    for (const [method, path] of [
      ['GET', `/payments/${id}`],
      ['POST', `/payments/${id}/cancel`],
      ['POST', `/payments/${id}/accept`],
    ] as const) {
      const answer = await call(app, stranger.key, method, path)
      assert.equal(answer.status, 404)
      assert.equal(answer.error.reason, 'payment_not_found')
    }
  }
  assert.equal((await call(app, key, 'GET', `/payments/${data.id}`)).data.status, 'pending')
  assert.equal((await call(app, stranger.key, 'GET', `/payments?filter_id=${data.id}`)).data.total, 0)
})

test('a pending payment is cancelled once, and nothing is held to accept', async () => {
  const { data } = await create(good)
  const cancelled = await call(app, key, 'POST', `/payments/${data.id}/cancel`)
  assert.deepEqual([cancelled.status, cancelled.data.status], [200, 'cancelled'])
  const again = await call(app, key, 'POST', `/payments/${data.id}/cancel`)
  assert.deepEqual([again.status, again.error.reason], [409, 'payment_not_cancellable'])
  const accepted = await call(app, key, 'POST', `/payments/${data.id}/accept`)
  assert.deepEqual([accepted.status, accepted.error.reason], [409, 'nothing_to_accept'])
})

test('a live coin whose node is not connected is refused with 503', async () => {
  const live = await testMerchant(gateway.db, { mode: 'live' })
  const answer = await create(good, live.key)
  assert.deepEqual([answer.status, answer.error.reason], [503, 'chain_unavailable'])
  assert.equal(answer.headers['retry-after'], '5')
})

test('creating wakes the deliveries where there is somebody to tell', async () => {
  const told = await testMerchant(gateway.db)
  gateway.woken.length = 0
  await create(good, told.key)
  assert.deepEqual(gateway.woken, [])
  await call(app, told.key, 'POST', '/webhooks', {
    body: { url: 'https://shop.example/hook', events: ['payment.created'] },
  })
  gateway.woken.length = 0
  await create(good, told.key)
  assert.deepEqual(gateway.woken, ['deliver'])
})

// The list, over a merchant of its own.

const lister = await testMerchant(gateway.db)
const SEED = [
  { asset: 'LTC', fiat_amount: 30, customer_email: 'Ann_Lee@Example.com', reference: 'a' },
  { asset: 'BTC', fiat_amount: 10, customer_email: 'bob%x@example.com', reference: 'b' },
  { asset: 'ETH', fiat_amount: 20, fiat_currency: 'EUR', reference: 'c' },
  { asset: 'LTC', fiat_amount: 10, customer_email: 'annxlee@example.com', reference: 'd' },
  { asset: 'USDC', fiat_amount: 40, reference: 'e' },
]
const ids: string[] = []
for (const [index, body] of SEED.entries()) {
  const { data } = await create(body, lister.key)
  ids.push(data.id)
  await gateway.db.query(
    `update payments set created_at = $2 where id = (select id from payments where account_id = $1 and reference = $3)`,
    [lister.account.id, new Date(Date.UTC(2026, 0, 1 + index)), body.reference],
  )
}
await call(app, lister.key, 'POST', `/payments/${ids[1]}/cancel`)

const list = (query: Record<string, string>) => call(app, lister.key, 'GET', '/payments', { query })

const LISTS: [Record<string, string>, string][] = [
  [{}, 'edcba'],
  [{ order: 'asc' }, 'abcde'],
  [{ sort: 'id' }, 'edcba'],
  [{ sort: 'id', order: 'asc' }, 'abcde'],
  [{ sort: 'total' }, 'eacdb'],
  [{ sort: 'total', order: 'asc' }, 'bdcae'],
  [{ sort: 'asset', order: 'asc' }, 'bcade'],
  [{ sort: 'status', order: 'asc' }, 'bacde'],
  [{ filter_id: ids[2] ?? '' }, 'c'],
  [{ filter_id: 'pay_nothing' }, ''],
  [{ filter_email: 'ann_lee' }, 'a'],
  [{ filter_email: 'ANN' }, 'da'],
  [{ filter_email: '%' }, 'b'],
  [{ filter_email: '_' }, 'a'],
  [{ filter_email: '\\' }, ''],
  [{ filter_email: "' or true --" }, ''],
  [{ filter_email: 'example' }, 'dba'],
  [{ filter_reference: 'c' }, 'c'],
  [{ filter_reference: 'C' }, ''],
  [{ filter_reference: 'a', filter_asset: 'BTC' }, ''],
  [{ filter_asset: 'LTC' }, 'da'],
  [{ filter_asset: 'LTC,BTC,LTC' }, 'dba'],
  [{ filter_asset: 'LTC,BTC', filter_asset_op: 'is_not' }, 'ec'],
  [{ filter_asset: 'ETH', filter_asset_op: 'is' }, 'c'],
  [{ filter_asset_op: 'is_not' }, 'edcba'],
  [{ filter_status: 'cancelled' }, 'b'],
  [{ filter_status: 'cancelled', filter_status_op: 'is_not' }, 'edca'],
  [{ filter_status: 'completed,overpaid' }, ''],
  [{ total_min: '19.8' }, 'eca'],
  [{ total_max: '19.80' }, 'dcb'],
  [{ total_min: '9.9', total_max: '9.9' }, 'db'],
  [{ total_min: '9.91', total_max: '9.9' }, ''],
  [{ start_date: '2026-01-03' }, 'edc'],
  [{ end_date: '2026-01-03' }, 'ba'],
  [{ start_date: '2026-01-02', end_date: '2026-01-04' }, 'cb'],
  [{ start_date: '2026-01-03T00:00:00.001Z' }, 'ed'],
  [{ end_date: '2026-01-03T02:00:00+02:00' }, 'ba'],
  [{ filter_asset: 'LTC', total_min: '20', sort: 'total', order: 'asc' }, 'a'],
  [{ limit: '2' }, 'ed'],
  [{ limit: '2', page: '2' }, 'cb'],
  [{ limit: '2', page: '3' }, 'a'],
  [{ limit: '2', page: '4' }, ''],
  [{ page: '9007199254740991', limit: '100' }, ''],
]
for (const [query, expected] of LISTS) {
  test(`the list of ${JSON.stringify(query)} is "${expected}"`, async () => {
    const { status, data, text } = await list(query)
    assert.equal(status, 200, text)
    assert.equal(data.items.map((item: { reference: string }) => item.reference).join(''), expected)
    const { page: _, limit: __, ...filters } = query
    const all = await list({ ...filters, limit: '100' })
    assert.equal(data.total, all.data.items.length)
    assert.deepEqual(Object.keys(data), ['items', 'total', 'page', 'limit', 'total_pages'])
    assert.deepEqual([data.page, data.limit], [Number(query.page ?? 1), Number(query.limit ?? 25)])
    assert.equal(data.total_pages, Math.ceil(data.total / data.limit))
    for (const item of data.items) {
      assert.deepEqual(Object.keys(item), [
        'id',
        'status',
        'asset',
        'net_fiat',
        'fiat_currency',
        'reference',
        'created_at',
      ])
    }
  })
}

const WRONG_LISTS: [Record<string, string>, string][] = [
  [{ page: '0' }, 'page'],
  [{ page: '-1' }, 'page'],
  [{ page: '1.5' }, 'page'],
  [{ page: 'one' }, 'page'],
  [{ page: '99999999999999999999' }, 'page'],
  [{ limit: '0' }, 'limit'],
  [{ limit: '101' }, 'limit'],
  [{ sort: 'net_minor' }, 'sort'],
  [{ sort: '' }, 'sort'],
  [{ sort: 'constructor' }, 'sort'],
  [{ sort: 'id;select 1' }, 'sort'],
  [{ order: 'DESC' }, 'order'],
  [{ filter_asset: 'DOGE' }, 'filter_asset'],
  [{ filter_asset: '' }, 'filter_asset'],
  [{ filter_asset: 'LTC,' }, 'filter_asset'],
  [{ filter_asset: 'toString' }, 'filter_asset'],
  [{ filter_asset_op: 'not' }, 'filter_asset_op'],
  [{ filter_status: 'paid' }, 'filter_status'],
  [{ filter_status_op: '' }, 'filter_status_op'],
  [{ total_min: 'x' }, 'total_min'],
  [{ total_min: '1.001' }, 'total_min'],
  [{ total_max: '-1' }, 'total_max'],
  [{ total_max: '' }, 'total_max'],
  [{ start_date: 'yesterday' }, 'start_date'],
  [{ start_date: '2026-02-30' }, 'start_date'],
  [{ end_date: '2026-01-01T10:00' }, 'end_date'],
  [{ end_date: '' }, 'end_date'],
  [{ filter_email: 'a\0b' }, 'filter_email'],
  [{ colour: 'red' }, 'colour'],
  [{ filter_label: 'x' }, 'filter_label'],
]
for (const [query, field] of WRONG_LISTS) {
  test(`the list of ${JSON.stringify(query)} is refused`, async () => {
    const answer = await list(query)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.error.details[0].field, field)
  })
}

test('pages of equal values never overlap', async () => {
  const many = await testMerchant(gateway.db)
  for (let i = 0; i < 7; i++) await create({ asset: 'LTC', fiat_amount: 5 }, many.key)
  const seen = new Set<string>()
  for (const page of ['1', '2', '3', '4']) {
    const { data } = await call(app, many.key, 'GET', '/payments', {
      query: { sort: 'total', limit: '2', page },
    })
    assert.equal(data.total, 7)
    for (const item of data.items) seen.add(item.id)
  }
  assert.equal(seen.size, 7)
})
