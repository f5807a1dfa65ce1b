import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testKey, testMerchant } from '../../../test/api.ts'
import { testGateway } from '../../../test/gateway.ts'
import { newPublicId, readId, showId } from '../../core/ids.ts'
import { openPaymentLink, pickCoin, readCheckout } from '../../flows/checkout/checkout.ts'

const gateway = await testGateway()
const { db } = gateway
const app = await testApp(gateway)
const { account, key } = await testMerchant(db, { currency: 'EUR' })
const other = await testMerchant(db)

const countRows = async (table: 'payment_links' | 'checkout_sessions' | 'customers') =>
  (await db.query<{ n: bigint }>(`select count(*) as n from ${table} where account_id = $1`, [account.id]))
    .rows[0]?.n

test('a checkout session answers its id and the page to send the buyer to', async () => {
  const body = {
    amount: 49.99,
    currency: 'GBP',
    label: 'Order <7>',
    reference: 'order-7',
    customer_email: 'Ann@shop.example',
    success_url: 'https://shop.example/thanks?o=7',
    cancel_url: 'http://localhost:3000/cart',
  }
  const { status, data } = await call(app, key, 'POST', '/checkout/sessions', { body })
  assert.equal(status, 201)
  assert.deepEqual(data, { id: data.id, url: `http://127.0.0.1:8080/checkout/${data.id}` })
  const id = readId('cs', data.id)
  const checkout = id && (await readCheckout(db, id))
  assert.ok(checkout)
  const { session } = checkout
  assert.deepEqual(
    [session.accountId, session.amountMinor, session.currency, session.label, session.reference],
    [account.id, 49_99n, 'GBP', 'Order <7>', 'order-7'],
  )
  assert.deepEqual(
    [session.customerEmail, checkout.successUrl, checkout.cancelUrl, checkout.status],
    ['Ann@shop.example', body.success_url, body.cancel_url, 'open'],
  )
  const { data: customers } = await call(app, key, 'GET', '/customers')
  assert.deepEqual(
    customers.items.map((item: { email: string }) => item.email),
    ['Ann@shop.example'],
  )
})

test('a checkout session needs nothing: the buyer is asked for an amount of the settlement currency', async () => {
  for (const sent of [{ body: {} }, {}]) {
    const { status, data } = await call(app, key, 'POST', '/checkout/sessions', sent)
    assert.equal(status, 201)
    const id = readId('cs', data.id)
    const checkout = id && (await readCheckout(db, id))
    assert.deepEqual([checkout?.session.amountMinor, checkout?.session.currency], [null, 'EUR'])
  }
})

const long = 'x'.repeat(256)
const REFUSED_SESSIONS: [body: unknown, status: number, field: string][] = [
  [{ amount: 0 }, 400, 'amount'],
  [{ amount: -5 }, 400, 'amount'],
  [{ amount: 1.001 }, 400, 'amount'],
  [{ amount: '5' }, 400, 'amount'],
  [{ amount: null }, 400, 'amount'],
  [{ amount: 0.49 }, 422, 'amount'],
  [{ amount: 1_000_000.01 }, 422, 'amount'],
  [{ currency: 'JPY' }, 400, 'currency'],
  [{ label: long }, 400, 'label'],
  [{ label: 7 }, 400, 'label'],
  [{ reference: long }, 400, 'reference'],
  [{ customer_email: 'ann' }, 400, 'customer_email'],
  [{ customer_email: `${'a'.repeat(250)}@x.yz` }, 400, 'customer_email'],
  [{ success_url: 'javascript:alert(1)' }, 400, 'success_url'],
  [{ success_url: '/thanks' }, 400, 'success_url'],
  [{ cancel_url: `https://shop.example/${'x'.repeat(2_048)}` }, 400, 'cancel_url'],
  [{ cancel_url: 'ftp://shop.example' }, 400, 'cancel_url'],
  [{ asset: 'BTC' }, 400, 'asset'],
  [[], 400, 'body'],
]

for (const [body, status, field] of REFUSED_SESSIONS) {
  test(`a checkout session of ${JSON.stringify(body).slice(0, 60)} is refused with ${status} and leaves no trace`, async () => {
    const before = [await countRows('checkout_sessions'), await countRows('customers')]
    const answer = await call(app, key, 'POST', '/checkout/sessions', { body })
    assert.equal(answer.status, status)
    assert.equal(answer.error.details[0].field, field)
    assert.deepEqual([await countRows('checkout_sessions'), await countRows('customers')], before)
  })
}

const makeLink = async (body: object) => {
  const { status, data } = await call(app, key, 'POST', '/payment-links', { body })
  assert.equal(status, 201)
  return data
}

test('a payment link shows as the contract says, priced in dollars unless told otherwise', async () => {
  const link = await makeLink({ label: 'Consultation', amount: 120 })
  assert.deepEqual(link, {
    id: link.id,
    label: 'Consultation',
    amount: 120,
    currency: 'USD',
    uses: 0,
    is_active: true,
    created_at: new Date(link.created_at).toISOString(),
  })
  assert.match(link.id, /^plink_[0-9a-hjkmnp-tv-z]{26}$/)
  await call(app, key, 'PATCH', `/payment-links/${link.id}`, { body: { is_active: false } })
})

const REFUSED_LINKS: [body: unknown, status: number, field: string][] = [
  [{ amount: 1 }, 400, 'label'],
  [{ label: 'x' }, 400, 'amount'],
  [{ label: '', amount: 1 }, 400, 'label'],
  [{ label: long, amount: 1 }, 400, 'label'],
  [{ label: 'x', amount: 0 }, 400, 'amount'],
  [{ label: 'x', amount: 1.234 }, 400, 'amount'],
  [{ label: 'x', amount: 0.1 }, 422, 'amount'],
  [{ label: 'x', amount: 2e6 }, 422, 'amount'],
  [{ label: 'x', amount: 1, currency: 'usd' }, 400, 'currency'],
  [{ label: 'x', amount: 1, uses: 5 }, 400, 'uses'],
]

for (const [body, status, field] of REFUSED_LINKS) {
  test(`a payment link of ${JSON.stringify(body).slice(0, 60)} is refused with ${status}`, async () => {
    const before = await countRows('payment_links')
    const answer = await call(app, key, 'POST', '/payment-links', { body })
    assert.equal(answer.status, status)
    assert.equal(answer.error.details[0].field, field)
    assert.equal(await countRows('payment_links'), before)
  })
}

test('a payment link is disabled and enabled again; only by a boolean, only by its owner', async () => {
  const link = await makeLink({ label: 'Switch', amount: 5 })
  const patch = (body: unknown, caller = key, id = link.id) =>
    call(app, caller, 'PATCH', `/payment-links/${id}`, { body })
  assert.deepEqual((await patch({ is_active: false })).data, { ...link, is_active: false })
  assert.deepEqual((await patch({ is_active: false })).data, { ...link, is_active: false })
  assert.deepEqual((await patch({ is_active: true })).data, link)
  for (const body of [{}, { is_active: 'true' }, { is_active: 1 }, { is_active: true, label: 'x' }]) {
    assert.equal((await patch(body)).status, 400)
  }
  for (const [caller, id] of [
    [other.key, link.id],
    [key, showId('plink', newPublicId('plink'))],
    [key, 'plink_1'],
    [key, link.id.replace('plink', 'pay')],
  ] as const) {
    const answer = await patch({ is_active: false }, caller, id)
    assert.deepEqual([answer.status, answer.error.reason], [404, 'payment_link_not_found'])
  }
  await patch({ is_active: false })
})

test('payment links are listed with every filter and sort', async (t) => {
  const merchant = await testMerchant(db)
  const made = new Map<string, { id: string }>()
  const links = [
    { label: 'Espresso 50%', amount: 2.5, created: '2026-01-01T10:00:00Z', uses: 1, is_active: true },
    { label: 'Cappuccino', amount: 4, created: '2026-01-02T10:00:00Z', uses: 3, is_active: false },
    { label: 'espresso doppio', amount: 3.75, created: '2026-01-03T10:00:00Z', uses: 0, is_active: true },
  ]
  for (const { label, amount, created, uses, is_active } of links) {
    const { data } = await call(app, merchant.key, 'POST', '/payment-links', { body: { label, amount } })
    const id = readId('plink', data.id)
    assert.ok(id)
    for (let use = 0; use < uses; use++) await db.transaction((tx) => openPaymentLink(tx, id))
    await db.query('update payment_links set created_at = $2, is_active = $3 where id = $1', [
      id,
      created,
      is_active,
    ])
    made.set(label.slice(0, 1), data)
  }
  const byId = [...made].toSorted(([, a], [, b]) => (a.id < b.id ? -1 : 1)).map(([first]) => first)
  const LISTS: [query: Record<string, string>, found: string[]][] = [
    [{}, ['e', 'C', 'E']],
    [{ order: 'asc' }, ['E', 'C', 'e']],
    [{ sort: 'id', order: 'asc' }, byId],
    [{ sort: 'amount' }, ['C', 'e', 'E']],
    [{ sort: 'uses' }, ['C', 'E', 'e']],
    [{ sort: 'status', order: 'asc', limit: '1' }, ['C']],
    [{ filter_id: made.get('C')?.id ?? '' }, ['C']],
    [{ filter_id: 'plink_x' }, []],
    [{ filter_label: 'ESPRESSO' }, ['e', 'E']],
    [{ filter_label: '50%' }, ['E']],
    [{ filter_status: 'active' }, ['e', 'E']],
    [{ filter_status: 'inactive' }, ['C']],
    [{ filter_status: 'inactive,active' }, ['e', 'C', 'E']],
    [{ amount_min: '3.75' }, ['e', 'C']],
    [{ amount_max: '3.74' }, ['E']],
    [{ start_date: '2026-01-02', end_date: '2026-01-03' }, ['C']],
    [{ limit: '2', page: '2' }, ['E']],
  ]
  for (const [query, found] of LISTS) {
    await t.test(JSON.stringify(query), async () => {
      const { status, data } = await call(app, merchant.key, 'GET', '/payment-links', { query })
      assert.equal(status, 200)
      assert.deepEqual(
        data.items.map((item: { label: string }) => item.label.slice(0, 1)),
        found,
      )
      assert.equal(data.total, 'limit' in query ? 3 : found.length)
    })
  }
  for (const [field, value] of Object.entries({
    sort: 'currency',
    order: 'none',
    limit: '0',
    page: '-1',
    filter_status: 'on',
    amount_min: '-1',
    amount_max: 'x',
    start_date: '2026-13-01',
    filter_uses: '1',
  })) {
    const answer = await call(app, merchant.key, 'GET', '/payment-links', { query: { [field]: value } })
    assert.deepEqual([answer.status, answer.error.details[0].field], [400, field])
  }
  assert.equal((await call(app, other.key, 'GET', '/payment-links')).data.total, 0)
})

test('sessions and links need exactly their scopes', async () => {
  const link = await makeLink({ label: 'Scopes', amount: 5 })
  const REQUESTS = [
    ['POST', '/checkout/sessions', 'payments:write', {}],
    ['POST', '/payment-links', 'payment_links:write', { label: 'x', amount: 5 }],
    ['GET', '/payment-links', 'payment_links:read', undefined],
    ['PATCH', `/payment-links/${link.id}`, 'payment_links:write', { is_active: true }],
  ] as const
  const scopes = ['payments:write', 'payments:read', 'payment_links:read', 'payment_links:write'] as const
  for (const scope of scopes) {
    const caller = await testKey(db, account, [scope])
    for (const [method, path, needed, body] of REQUESTS) {
      const { status } = await call(app, caller, method, path, body ? { body } : {})
      assert.equal(status === 403, scope !== needed, `${method} ${path} with ${scope} answers ${status}`)
    }
  }
})

test('a session is read with the payment that its buyer makes, by its own account alone', async () => {
  const { data: made } = await call(app, key, 'POST', '/checkout/sessions', {
    body: { amount: 20, reference: 'order-20', label: 'Twenty' },
  })
  const get = (asker: string, id: string) => call(app, asker, 'GET', `/checkout/sessions/${id}`)
  const before = await get(key, made.id)
  assert.deepEqual(
    [before.status, before.data.status, before.data.amount, before.data.currency, before.data.payment],
    [200, 'open', 20, 'EUR', null],
  )
  assert.deepEqual(
    [before.data.url, before.data.reference, before.data.label],
    [made.url, 'order-20', 'Twenty'],
  )

  const id = readId('cs', made.id)
  assert(id)
  const picked = await db.transaction((tx) =>
    pickCoin(gateway, tx, id, { asset: 'LTC', amountMinor: null, email: null }),
  )
  const after = await get(key, made.id)
  const { data: payment } = await call(app, key, 'GET', `/payments/${showId('pay', picked.id)}`)
  assert.deepEqual(after.data.payment, payment)
  assert.equal(payment.reference, 'order-20')

  for (const [asker, wanted] of [
    [other.key, made.id],
    [key, showId('cs', newPublicId('cs'))],
    [key, 'cs_nothing'],
  ] as const) {
    const answer = await get(asker, wanted)
    assert.deepEqual([answer.status, answer.error.reason], [404, 'session_not_found'])
  }
})
