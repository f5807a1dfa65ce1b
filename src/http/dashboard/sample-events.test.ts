/** An endpoint is tried with events that never happened: signed and recorded as real ones, and counted by nobody. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Webhook } from 'standardwebhooks'
import { call, testApp, testKey } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { ok, receiver } from '../../../test/deliveries.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { showId } from '../../core/ids.ts'
import { EVENT_TYPES } from '../../events/event.ts'
import { createWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import { sampleData } from '../../flows/operation/sample-event.ts'
import { readAnnounced } from '../../flows/recovery/told-payments.sql.ts'
import { startDeliverer } from '../../workers/deliver.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const home = homeOf(account)
const dev = await testPerson(gateway, app, { account, role: 'developer' })
const shop = await receiver(ok)

const endpointFor = async (url: string, events: readonly (typeof EVENT_TYPES)[number][]) => {
  const made = await gateway.db.transaction((tx) =>
    createWebhookEndpoint(tx, gateway.secrets, { accountId: account.id, url, events }),
  )
  return { ...made, path: `${home}/webhooks/${showId('whk', made.endpoint.id)}` }
}
const other = await endpointFor('https://other.example/hook', EVENT_TYPES)
const { path, secret, endpoint } = await endpointFor(shop.url, EVENT_TYPES)

test('before the first payment each type is sent, signed, marked and recorded, to this endpoint alone', async () => {
  for (const type of EVENT_TYPES) {
    const { location, text } = await dev.post(`${path}/test`, { type })
    assert.equal(location, `${path}?done=test-sent`, text)
  }
  const deliverer = startDeliverer(gateway, { idleMs: 10 })
  try {
    await shop.count(EVENT_TYPES.length)
  } finally {
    await deliverer.stop()
  }
  const bodies = shop.requests.map(({ body, headers }) => {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return JSON.parse(body)
  })
  assert.deepEqual(new Set(bodies.map(({ type }) => type)), new Set(EVENT_TYPES))
  assert.ok(bodies.every((body) => body.test === true))
  const { text, html } = await dev.get(path)
  for (const type of EVENT_TYPES) assert.ok(text.includes(`${type} test delivered`), `${type}: ${text}`)
  const [, log = ''] = /href="([^"]*events\?filter_id=evt_[^"]*)"/.exec(html) ?? []
  assert.match((await dev.get(log)).text, /test.*"test": true|&quot;test&quot;: true/s)
  assert.match((await dev.get(other.path)).text, /Nothing was sent yet/)
})

test('what never happened is not replayed, not missed, not the newest, and makes no payment look lost', async () => {
  const key = await testKey(gateway.db, account, ['webhooks:read', 'payments:read', 'withdrawals:read'])
  const { data } = await call(app, key, 'GET', '/events')
  assert.deepEqual([data.items, data.cursor], [[], null])
  assert.deepEqual((await call(app, key, 'GET', '/events?after=latest')).data.cursor, null)
  assert.deepEqual((await readAnnounced(gateway.db, null, 3_600, 1_000)).ids, [])
  await gateway.db.query(`delete from delivery_attempts; delete from deliveries`)
  assert.equal((await dev.post(`${other.path}/newest`)).status, 409)
  const since = new Date().toISOString().slice(0, 10)
  const yesterday = new Date(Date.parse(since) - 86_400_000).toISOString().slice(0, 10)
  const missed = await dev.post(`${other.path}/recover`, { since: yesterday })
  assert.equal(missed.location, `${other.path}?done=nothing-missed`)
  const payment = await testPayment(gateway, account)
  assert.deepEqual((await readAnnounced(gateway.db, null, 3_600, 1_000)).ids, [payment.id])
})

test('a sample has the fields of what is real', async () => {
  const { rows } = await gateway.db.query<{ body: string }>(
    `select body from events where type = 'payment.created' and cause like 'payment:%'`,
  )
  const real = JSON.parse(rows[0]?.body ?? '{}').data
  const fieldsOf = (value: object) => Object.keys(value).sort()
  for (const type of EVENT_TYPES.filter((each) => each.startsWith('payment.'))) {
    const sample = JSON.parse(JSON.stringify(sampleData(type, new Date())))
    assert.deepEqual(fieldsOf(sample), fieldsOf(real), type)
    assert.deepEqual(fieldsOf(sample.deposit), fieldsOf(real.deposit), type)
  }
})

test('a type that the endpoint is not told of, and an endpoint that is off, are refused', async () => {
  const few = await endpointFor('https://few.example/hook', ['payment.expired'])
  const wrong = await dev.post(`${few.path}/test`, { type: 'payment.completed' })
  assert.deepEqual([wrong.status, /choose one of the events it is told of/.test(wrong.text)], [400, true])
  await gateway.db.query('update webhook_endpoints set is_active = false where id = $1', [endpoint.id])
  assert.equal((await dev.post(`${path}/test`, { type: 'payment.created' })).status, 409)
  assert.doesNotMatch((await dev.get(path)).text, /Send a test/)
})
