import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testKey, testMerchant } from '../../../test/api.ts'
import { testGateway, testPayment } from '../../../test/gateway.ts'
import { newId, showId } from '../../core/ids.ts'
import { adjustCustomer, upsertCustomer } from '../../payments/customers.sql.ts'

const gateway = await testGateway({ freshPerChain: 40 })
const { db } = gateway
const app = await testApp(gateway)
const { account, key } = await testMerchant(db)
const other = await testMerchant(db)

// Ann paid twice, Bob once, Cleo was only named, and Dora is another merchant's.
const CUSTOMERS = [
  { email: 'Ann@shop.example', orders: [40_00n, 10_50n], created: '2026-01-01T10:00:00.000Z' },
  { email: 'bob_1@home.example', orders: [99_99n], created: '2026-01-02T10:00:00.000Z' },
  { email: 'Cleo@shop.example', orders: [], created: '2026-01-03T10:00:00.000Z' },
] as const

const ids = new Map<string, string>()
for (const { email, orders, created } of CUSTOMERS) {
  const id = await db.transaction(async (tx) => {
    const customerId = await upsertCustomer(tx, account.id, email)
    for (const spentMinor of orders) {
      await adjustCustomer(tx, { accountId: account.id, customerId, orders: 1, spentMinor })
    }
    return customerId
  })
  await db.query('update customers set created_at = $2 where id = $1', [id, created])
  ids.set(email.slice(0, 3).toLowerCase(), showId('cus', id))
}
await db.transaction((tx) => upsertCustomer(tx, other.account.id, 'dora@shop.example'))
const ann = ids.get('ann') ?? ''

const LISTS: [query: Record<string, string>, found: string[]][] = [
  [{}, ['Cle', 'bob', 'Ann']],
  [{ order: 'asc' }, ['Ann', 'bob', 'Cle']],
  [{ sort: 'email', order: 'asc' }, ['Ann', 'bob', 'Cle']],
  [{ sort: 'email' }, ['Cle', 'bob', 'Ann']],
  [{ sort: 'order_count' }, ['Ann', 'bob', 'Cle']],
  [{ sort: 'total_spent' }, ['bob', 'Ann', 'Cle']],
  [{ sort: 'total_spent', order: 'asc' }, ['Cle', 'Ann', 'bob']],
  [{ sort: 'id', order: 'asc' }, ['Ann', 'bob', 'Cle']],
  [{ filter_id: ann }, ['Ann']],
  [{ filter_id: 'cus_nonsense' }, []],
  [{ filter_id: showId('cus', newId('cus')) }, []],
  [{ filter_email: 'SHOP' }, ['Cle', 'Ann']],
  [{ filter_email: '_1' }, ['bob']],
  [{ filter_email: '%' }, []],
  [{ order_count_min: '1' }, ['bob', 'Ann']],
  [{ order_count_min: '2' }, ['Ann']],
  [{ order_count_max: '1' }, ['Cle', 'bob']],
  [{ order_count_min: '1', order_count_max: '1' }, ['bob']],
  [{ total_spent_min: '50.5' }, ['bob', 'Ann']],
  [{ total_spent_min: '50.51' }, ['bob']],
  [{ total_spent_max: '50.5' }, ['Cle', 'Ann']],
  [{ start_date: '2026-01-02' }, ['Cle', 'bob']],
  [{ start_date: '2026-01-02T10:00:00Z' }, ['Cle', 'bob']],
  [{ end_date: '2026-01-02T10:00:00Z' }, ['Ann']],
  [{ end_date: '2026-01-02' }, ['Ann']],
  [{ limit: '2' }, ['Cle', 'bob']],
  [{ limit: '2', page: '2' }, ['Ann']],
  [{ page: '9' }, []],
]

for (const [query, found] of LISTS) {
  test(`customers listed by ${JSON.stringify(query)} are ${found.join(', ') || 'none'}`, async () => {
    const answer = await call(app, key, 'GET', '/customers', { query })
    assert.equal(answer.status, 200)
    assert.deepEqual(
      answer.data.items.map((item: { email: string }) => item.email.slice(0, 3)),
      found,
    )
    const { limit = '25', page = '1' } = query
    const total = 'limit' in query || 'page' in query ? 3 : found.length
    const { items: _, ...paging } = answer.data
    assert.deepEqual(paging, {
      total,
      page: Number(page),
      limit: Number(limit),
      total_pages: Math.ceil(total / Number(limit)),
    })
  })
}

const REFUSED: [query: Record<string, string>, field: string][] = [
  [{ sort: 'name' }, 'sort'],
  [{ order: 'up' }, 'order'],
  [{ page: '0' }, 'page'],
  [{ page: '1.5' }, 'page'],
  [{ limit: '101' }, 'limit'],
  [{ limit: '0' }, 'limit'],
  [{ filter_name: 'x' }, 'filter_name'],
  [{ order_count_min: '-1' }, 'order_count_min'],
  [{ order_count_max: 'many' }, 'order_count_max'],
  [{ total_spent_min: '-1' }, 'total_spent_min'],
  [{ total_spent_max: '1.001' }, 'total_spent_max'],
  [{ start_date: 'yesterday' }, 'start_date'],
  [{ end_date: '2026-02-30' }, 'end_date'],
]

for (const [query, field] of REFUSED) {
  test(`customers listed by ${JSON.stringify(query)} are refused, naming the field`, async () => {
    const answer = await call(app, key, 'GET', '/customers', { query })
    assert.equal(answer.status, 400)
    assert.deepEqual(
      answer.error.details.map((detail: { field: string }) => detail.field),
      [field],
    )
  })
}

test('a customer shows as the contract says, with his last 20 payments, newest first', async () => {
  const payments = []
  for (let index = 0; index < 21; index++) {
    payments.push(await testPayment(gateway, account, { customerEmail: 'ANN@shop.example' }))
  }
  const { status, data } = await call(app, key, 'GET', `/customers/${ann}`)
  assert.equal(status, 200)
  const { recent_payments, ...customer } = data
  assert.deepEqual(customer, {
    id: ann,
    email: 'Ann@shop.example',
    name: null,
    order_count: 2,
    total_spent: 50.5,
    created_at: '2026-01-01T10:00:00.000Z',
  })
  assert.deepEqual(
    recent_payments.map((payment: { id: string }) => payment.id),
    payments
      .toReversed()
      .slice(0, 20)
      .map((payment) => showId('pay', payment.id)),
  )
  assert.deepEqual(recent_payments[0], {
    id: recent_payments[0].id,
    status: 'pending',
    asset: 'LTC',
    net_fiat: 99,
    fiat_currency: 'USD',
    created_at: payments[20]?.createdAt.toISOString(),
  })
})

test('unknown customers, and those of other merchants, are not found', async () => {
  for (const id of [showId('cus', newId('cus')), 'cus_1', ann.replace('cus', 'pay'), '%20']) {
    const answer = await call(app, key, 'GET', `/customers/${id}`)
    assert.deepEqual([answer.status, answer.error.reason], [404, 'customer_not_found'])
  }
  assert.equal((await call(app, other.key, 'GET', `/customers/${ann}`)).status, 404)
  const { data } = await call(app, other.key, 'GET', '/customers')
  assert.deepEqual(
    data.items.map((item: { email: string }) => item.email),
    ['dora@shop.example'],
  )
})

test('customers are read with customers:read alone', async () => {
  const reader = await testKey(db, account, ['customers:read'])
  const writer = await testKey(db, account, ['customers:write', 'payments:read'])
  for (const path of ['/customers', `/customers/${ann}`]) {
    assert.equal((await call(app, reader, 'GET', path)).status, 200)
    assert.equal((await call(app, writer, 'GET', path)).status, 403)
    assert.equal((await call(app, null, 'GET', path)).status, 401)
  }
})
