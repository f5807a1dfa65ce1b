import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { after } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { call, testApp, testKey, testMerchant } from '../../../test/api.ts'
import { testGateway } from '../../../test/gateway.ts'
import { readId, showId } from '../../core/ids.ts'
import { openDatabase } from '../../db/database.ts'
import { announce } from '../../events/announce.sql.ts'
import { disableWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import { startDeliverer } from '../../workers/deliver.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const { db } = gateway
const { account, key } = await testMerchant(db)
const stranger = await testMerchant(db)

let status = 200
const received: { id: string; body: string; headers: Record<string, string> }[] = []
const shop = createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request)).toString()
  const headers = request.headers as Record<string, string>
  received.push({ id: String(headers['webhook-id']), body, headers })
  response.writeHead(status).end('thanks')
  shop.emit('received')
})
shop.listen(0, '127.0.0.1')
await once(shop, 'listening')
const deliverer = startDeliverer(gateway, { idleMs: 10 })
after(async () => {
  await deliverer.stop()
  shop.close()
  shop.closeAllConnections()
})

const get = (path: string, by = key) => call(app, by, 'GET', path)
const post = (path: string, by = key) => call(app, by, 'POST', path)

async function makeEndpoint() {
  const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/hook`
  const { data } = await call(app, key, 'POST', '/webhooks', { body: { url, events: ['payment.created'] } })
  return data
}

let causes = 0
const happen = (data: unknown = { id: 'pay_1' }, of = account) =>
  db.transaction((tx) =>
    announce(tx, { accountId: of.id, type: 'payment.created', cause: `payment:${++causes}:created`, data }),
  )

/** The deliveries of an endpoint as the API shows them, once they are as expected. */
async function deliveries(id: string, holds: (statuses: string[]) => boolean) {
  for (const end = performance.now() + 10_000; ; ) {
    const { data } = await get(`/webhooks/${id}/deliveries`)
    if (holds(data.items.map((item: { status: string }) => item.status))) return data
    assert.ok(performance.now() < end, JSON.stringify(data))
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

test('deliveries are listed with their attempts, newest first, and filtered', async () => {
  const endpoint = await makeEndpoint()
  status = 500
  await happen()
  const [failed] = (await deliveries(endpoint.id, ([first]) => first === 'pending')).items
  assert.match(failed.id, /^dlv_/)
  await deliveries(endpoint.id, () => received.length > 0)
  status = 200
  await happen()
  const page = await deliveries(endpoint.id, (statuses) => statuses.join() === 'delivered,pending')
  assert.deepEqual([page.total, page.page, page.limit, page.total_pages], [2, 1, 25, 1])
  const [newest, oldest] = page.items
  assert.deepEqual(
    newest.attempts.map((a: { response_start: string }) => a.response_start),
    ['thanks'],
  )
  assert.deepEqual([newest.next_attempt_at, newest.event_type], [null, 'payment.created'])
  assert.equal(oldest.attempts[0].response_status, 500)
  assert.ok(Date.parse(oldest.next_attempt_at) > Date.now())
  const filtered = await get(`/webhooks/${endpoint.id}/deliveries?filter_status=delivered,failed&order=asc`)
  assert.deepEqual(
    filtered.data.items.map((item: { id: string }) => item.id),
    [newest.id],
  )
  const between = async (dates: string) =>
    (await get(`/webhooks/${endpoint.id}/deliveries?${dates}`)).data.items.map(
      (item: { id: string }) => item.id,
    )
  const at = encodeURIComponent(newest.created_at)
  assert.deepEqual(await between(`start_date=${at}`), [newest.id])
  assert.deepEqual(await between(`end_date=${at}`), [oldest.id])
  assert.equal((await get(`/webhooks/${endpoint.id}/deliveries?start_date=soon`)).status, 400)
  assert.equal((await get(`/webhooks/${endpoint.id}/deliveries?filter_status=lost`)).status, 400)
  assert.equal((await get(`/webhooks/${endpoint.id}/deliveries?endpoint=x`)).status, 400)
  await call(app, key, 'DELETE', `/webhooks/${endpoint.id}`)
})

test('a delivery is sent again under the same event id, whatever became of it', async () => {
  const endpoint = await makeEndpoint()
  await happen()
  const [delivered] = (await deliveries(endpoint.id, ([first]) => first === 'delivered')).items
  const path = `/webhooks/${endpoint.id}/deliveries/${delivered.id}/redeliver`
  const again = await post(path)
  assert.equal(again.status, 200)
  assert.equal(again.data.status, 'pending')
  const page = await deliveries(endpoint.id, ([first]) => first === 'delivered')
  assert.deepEqual(
    page.items[0].attempts.map((a: { number: number }) => a.number),
    [1, 2],
  )
  const ids = received.filter(({ id }) => id === delivered.event_id)
  assert.equal(ids.length, 2)

  await db.query(
    `update deliveries set attempts = 12, attempts_before = 2, status = 'failed', due_at = null, leased_until = null where endpoint_id = $1`,
    [readId('whk', endpoint.id)],
  )
  status = 500
  await post(path)
  const [retried] = (await deliveries(endpoint.id, ([first]) => first === 'pending')).items
  assert.ok(Date.parse(retried.next_attempt_at) - Date.now() < 65_000, 'the schedule begins anew')
  status = 200

  for (const [other, by, reason] of [
    [path, stranger.key, 'webhook_endpoint_not_found'],
    [`/webhooks/${endpoint.id}/deliveries/${endpoint.id}/redeliver`, key, 'delivery_not_found'],
    [`/webhooks/nonsense/deliveries/${delivered.id}/redeliver`, key, 'webhook_endpoint_not_found'],
  ] as const) {
    const refused = await post(other, by)
    assert.deepEqual([refused.status, refused.error.reason], [404, reason])
  }
  await call(app, key, 'DELETE', `/webhooks/${endpoint.id}`)
})

test('a disabled endpoint says why, refuses to be sent to, and is enabled again', async () => {
  const endpoint = await makeEndpoint()
  await happen()
  const [delivered] = (await deliveries(endpoint.id, ([first]) => first === 'delivered')).items
  const { rows } = await db.query<{ id: Parameters<typeof disableWebhookEndpoint>[2] }>(
    'select id from webhook_endpoints where is_active',
  )
  const [{ id } = assert.fail()] = rows
  await db.transaction((tx) => disableWebhookEndpoint(tx, account.id, id, 'gone'))
  const shown = await get(`/webhooks/${showId('whk', id)}`)
  assert.deepEqual([shown.data.is_active, shown.data.disabled_reason], [false, 'gone'])
  const refused = await post(`/webhooks/${endpoint.id}/deliveries/${delivered.id}/redeliver`)
  assert.deepEqual([refused.status, refused.error.reason], [409, 'webhook_endpoint_inactive'])
  const enabled = await post(`/webhooks/${endpoint.id}/enable`)
  assert.deepEqual([enabled.data.is_active, enabled.data.disabled_reason], [true, null])
  assert.equal((await get(`/webhooks/${endpoint.id}`, stranger.key)).status, 404)
  await call(app, key, 'DELETE', `/webhooks/${endpoint.id}`)
  assert.equal((await post(`/webhooks/${endpoint.id}/enable`)).status, 404)
})

test('a merchant and an operator can see that an endpoint fails', async () => {
  const attempts = async (result: string) => {
    const { rows } = await db.query<{ attempts: bigint }>(
      'select attempts from delivery_totals where result = $1',
      [result],
    )
    return Number(rows[0]?.attempts ?? 0)
  }
  const endpoint = await makeEndpoint()
  assert.equal((await get(`/webhooks/${endpoint.id}`)).data.failing_since, null)
  const before = await attempts('5xx')
  status = 503
  await happen()
  const end = performance.now() + 10_000
  while ((await attempts('5xx')) === before) assert.ok(performance.now() < end)
  status = 200
  const shown = (await get(`/webhooks/${endpoint.id}`)).data
  assert.ok(Date.parse(shown.failing_since) > Date.now() - 10_000)
  assert.equal(shown.is_active, true)
  const metrics = (await app.monitored.metrics()).split('\n')
  for (const line of [
    `beck_delivery_attempts_total{result="5xx"} ${before + 1}`,
    'beck_deliveries_pending 1',
    'beck_webhook_endpoints_ill{state="failing"} 1',
    'beck_webhook_endpoints_ill{state="disabled"} 0',
  ]) {
    assert.ok(
      metrics.includes(line),
      `${line} is not in ${metrics.filter((other) => /deliver|webhook/.test(other))}`,
    )
  }
  assert.ok(metrics.some((line) => line.startsWith('beck_delivery_attempt_seconds_total{result="2xx"} ')))
  await call(app, key, 'DELETE', `/webhooks/${endpoint.id}`)
})

test('a rotated secret is shown once, and both sign for a day', async () => {
  const endpoint = await makeEndpoint()
  const rotated = await post(`/webhooks/${endpoint.id}/rotate`)
  assert.equal(rotated.status, 200)
  assert.match(rotated.data.secret, /^whsec_/)
  assert.ok(Date.parse(rotated.data.previous_secret_until) > Date.now() + 23 * 3_600_000)
  const count = received.length
  await happen()
  while (received.length === count) await once(shop, 'received', { signal: AbortSignal.timeout(10_000) })
  const { body, headers } = received.at(-1) ?? assert.fail()
  for (const secret of [endpoint.secret, rotated.data.secret])
    assert.ok(new Webhook(secret).verify(body, headers))
  assert.equal((await post(`/webhooks/${endpoint.id}/rotate`, stranger.key)).status, 404)
  await call(app, key, 'DELETE', `/webhooks/${endpoint.id}`)
})

test('events are replayed in order, page by page, as they were sent, to their own account', async () => {
  const { account: own, key: ownKey } = await testMerchant(db)
  const events = (query: string, by = ownKey) => get(`/events${query}`, by)
  assert.deepEqual((await events('')).data, { items: [], has_more: false, cursor: null })
  assert.equal((await events('?after=latest')).data.cursor, null)
  const data = JSON.rawJSON('12345678901234567890')
  for (let n = 0; n < 5; n++) await happen({ id: `pay_${n}`, metadata: { number: data } }, own)
  const first = await events('?limit=3')
  assert.deepEqual([first.data.items.length, first.data.has_more], [3, true])
  assert.ok(first.text.includes('"number":12345678901234567890'))
  const second = await events(`?limit=3&after=${first.data.cursor}`)
  assert.deepEqual([second.data.items.length, second.data.has_more], [2, false])
  const all = [...first.data.items, ...second.data.items]
  assert.deepEqual(
    all.map((event) => event.data.id),
    ['pay_0', 'pay_1', 'pay_2', 'pay_3', 'pay_4'],
  )
  assert.deepEqual(Object.keys(all[0]), ['id', 'type', 'created', 'data'])
  const latest = await events('?after=latest')
  assert.deepEqual(latest.data, { items: [], has_more: false, cursor: second.data.cursor })
  assert.deepEqual((await events(`?after=${second.data.cursor}`)).data, latest.data)
  for (const [query, by] of [
    [`?after=${second.data.cursor}`, stranger.key],
    ['?after=evt_nonsense', ownKey],
    ['?after=pay_01k6v3d6yqf5bbt9xgk2v7p8rm', ownKey],
  ] as const) {
    const refused = await events(query, by)
    assert.deepEqual([refused.status, refused.error.reason], [400, 'unknown_event'])
  }
  assert.equal((await events('?limit=101')).status, 400)
})

test('a key is given the events of what it may read', async () => {
  const { account: own, key: ownKey } = await testMerchant(db)
  await happen({ id: 'pay_1' }, own)
  await db.transaction((tx) =>
    announce(tx, {
      accountId: own.id,
      type: 'payout.completed',
      cause: 'withdrawal:1',
      data: { id: 'wd_1' },
    }),
  )
  const shown = async (by: string, query = '') => {
    const { data } = await get(`/events${query}`, by)
    return { ids: data.items.map((event: { data: { id: string } }) => event.data.id), cursor: data.cursor }
  }
  const all = await shown(ownKey)
  assert.deepEqual(all.ids, ['pay_1', 'wd_1'])
  assert.equal((await shown(ownKey, '?after=latest')).cursor, all.cursor)

  const payments = await testKey(db, own, ['webhooks:read', 'payments:read'])
  const some = await shown(payments)
  assert.deepEqual(some.ids, ['pay_1'])
  assert.equal((await shown(payments, '?after=latest')).cursor, some.cursor)
  assert.deepEqual((await shown(payments, `?after=${all.cursor}`)).ids, [])

  for (const scopes of [['webhooks:read'], ['webhooks:read', 'withdrawals:read']] as const) {
    const refused = await get('/events', await testKey(db, own, scopes))
    assert.deepEqual([refused.status, refused.error.reason], [403, 'missing_scope'])
    assert.match(refused.error.message, /payments:read/)
  }
})

test('an event whose transaction commits late is neither skipped nor does it come out of order', async () => {
  const { account: own, key: ownKey } = await testMerchant(db)
  const other = openDatabase({ url: gateway.db.url, connectionsMax: 2 })
  after(() => other.close())
  const written = Promise.withResolvers<void>()
  const mayCommit = Promise.withResolvers<void>()
  const slow = other.transaction(async (tx) => {
    await announce(tx, {
      accountId: own.id,
      type: 'payment.created',
      cause: 'payment:slow:created',
      data: { id: 'slow' },
    })
    written.resolve()
    await mayCommit.promise
  })
  await written.promise
  await happen({ id: 'fast' }, own)
  const during = await get('/events', ownKey)
  assert.deepEqual(during.data, { items: [], has_more: false, cursor: null })
  mayCommit.resolve()
  await slow
  const afterwards = await get('/events', ownKey)
  assert.deepEqual(
    afterwards.data.items.map((event: { data: { id: string } }) => event.data.id),
    ['slow', 'fast'],
  )
})

test('an endpoint is found by any part of its URL, however long', async () => {
  const url = `https://example.com/${'x'.repeat(2_000)}`
  const of = await testMerchant(db)
  const { data } = await call(app, of.key, 'POST', '/webhooks', {
    body: { url, events: ['payment.created'] },
  })
  const found = await get(`/webhooks?filter_url=${url.toUpperCase().slice(8)}`, of.key)
  assert.deepEqual(
    found.data.items.map(({ id }: { id: string }) => id),
    [data.id],
  )
  assert.equal((await get(`/webhooks?filter_url=${'x'.repeat(2_049)}`, of.key)).status, 400)
})
