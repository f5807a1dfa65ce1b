/** Many deliveries and many workers at once: who waits for whom, and what becomes of a worker that ends. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import test, { type TestContext } from 'node:test'
import {
  type DeliveryRow,
  never,
  ok,
  type Received,
  receiver,
  settled,
  testDeliveries,
} from '../../test/deliveries.ts'
import { testAccount } from '../../test/gateway.ts'
import type { Database, Queryable } from '../db/database.ts'
import { ENDPOINTS_MAX } from '../events/webhook-endpoints.sql.ts'
import { startDeliverer } from './deliver.ts'

const { db, key, ports, deliverer, endAfterTest, endpoint, happen, deliveriesOf, until } =
  await testDeliveries()

test('one slow endpoint with a long backlog delays nobody else', async () => {
  const [slow, fast] = [await receiver(never), await receiver(ok)]
  const { endpoint: blocked } = await endpoint(slow.url)
  for (let n = 0; n < 60; n++) await happen()
  await db.query('update webhook_endpoints set is_active = false where id = $1', [blocked.id])
  const { endpoint: quick } = await endpoint(fast.url)
  for (let n = 0; n < 60; n++) await happen()
  await db.query('update webhook_endpoints set is_active = true where id = $1', [blocked.id])
  deliverer({ inFlightMax: 20, perEndpointMax: 10, sender: { timeoutMs: 30_000 } })
  await slow.count(10)
  const rows = await until(quick.id, settled)
  assert.equal(rows.length, 60)
  assert.equal(slow.requests.length, 10)
})

test('21 silent endpoints of one merchant hold up nobody else’s webhook, and leave places free', async () => {
  const silent = await receiver(never)
  for (let n = 0; n < 21; n++) await endpoint(silent.url)
  for (let n = 0; n < 5; n++) await happen()
  deliverer({ inFlightMax: 20, perEndpointMax: 1, sender: { timeoutMs: 30_000 } })
  await silent.count(5)
  const shop = await receiver(ok)
  const { id } = await testAccount(ports)
  const { endpoint: other } = await endpoint(shop.url, undefined, id)
  for (let n = 0; n < 10; n++) await happen(undefined, id)
  await until(other.id, settled)
  assert.equal(silent.requests.length, 5, 'a quarter of the places')
})

test('an account has so many endpoints and no more, however they are asked for', async () => {
  const { id } = await testAccount(ports)
  const asked = Array.from({ length: ENDPOINTS_MAX + 5 }, () =>
    endpoint('http://127.0.0.1:9/', undefined, id),
  )
  const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 5)
  const reasons = refused.map((one) => one.status === 'rejected' && one.reason.reason)
  assert.deepEqual(new Set(reasons), new Set(['too_many_webhook_endpoints']))
})

test('an endpoint that fails holds few places until it succeeds again', async () => {
  let works = false
  const shop = await receiver(({ response }) => {
    if (works) response.end()
  })
  const { endpoint: made } = await endpoint(shop.url)
  for (let n = 0; n < 30; n++) await happen()
  await db.query('update webhook_endpoints set failing_since = now(), failed_at = now() where id = $1', [
    made.id,
  ])
  deliverer({ perEndpointMax: 10, perFailingEndpointMax: 2, sender: { timeoutMs: 400 } })
  await shop.count(2)
  await until(made.id, (rows) => rows.filter(({ attempts }) => attempts > 0).length >= 2)
  assert.ok(shop.requests.length <= 4)
  works = true
  await until(made.id, (rows) => rows.filter(({ status }) => status === 'delivered').length >= 26)
})

test('the events of one payment arrive one after the other', async () => {
  const order: string[] = []
  let open = 0
  let openMax = 0
  const shop = await receiver(({ body, response }) => {
    open += 1
    openMax = Math.max(openMax, open)
    order.push(JSON.parse(body).data.cause)
    setImmediate(() => {
      open -= 1
      response.end()
    })
  })
  const { endpoint: made } = await endpoint(shop.url)
  const steps = ['created', 'confirming', 'completed', 'refunded'].map((step) => `payment:one:${step}`)
  for (const step of steps) await happen(step)
  deliverer()
  await until(made.id, settled)
  assert.deepEqual([order, openMax], [steps, 1])
})

/** A receiver that lists the events in the order in which they came, and answers the first of them when it is told to. */
async function heldReceiver() {
  const order: string[] = []
  let answer = () => {}
  const shop = await receiver(({ body, response }, nth) => {
    order.push(JSON.parse(body).data.cause.split(':')[2])
    if (nth === 1) answer = () => void response.end()
    else response.end()
  })
  return { ...shop, order, answer: () => answer() }
}

/** A steady clock that can be put on. */
function skippingClock(t: TestContext) {
  const now = performance.now.bind(performance)
  let skippedMs = 0
  t.mock.method(performance, 'now', () => now() + skippedMs)
  return (ms: number) => {
    skippedMs += ms
  }
}

const claimed = (count: number) => (rows: readonly DeliveryRow[]) =>
  rows.filter(({ dueInMs }) => (dueInMs ?? 0) > 30_000).length === count

test('an event that waited too long behind another is not overtaken by the next one, claimed since', async (t) => {
  const skip = skippingClock(t)
  const shop = await heldReceiver()
  const { endpoint: made } = await endpoint(shop.url)
  await happen('payment:stale:first')
  deliverer()
  await shop.count(1)
  await happen('payment:stale:second')
  await until(made.id, claimed(2))
  skip(200)
  await happen('payment:stale:third')
  await until(made.id, claimed(3))
  skip(100)
  shop.answer()
  await until(made.id, settled)
  assert.deepEqual(shop.order, ['first', 'second', 'third'])
})

test('nor by one whose claim is under way when it is given up', async (t) => {
  const skip = skippingClock(t)
  const shop = await heldReceiver()
  const { endpoint: made } = await endpoint(shop.url)
  await happen('payment:late:first')
  const slow: Database = {
    ...db,
    async query<Row>(...asked: Parameters<Queryable['query']>) {
      const answer = await db.query<Row>(...asked)
      if (/^with recursive/.test(asked[0]) && JSON.stringify(answer.rows).includes('payment:late:third')) {
        // The first is over by the time that the claim is heard of, and so is the turn of the second.
        shop.answer()
        await until(made.id, (rows) => rows[0]?.status === 'delivered')
      }
      return answer
    },
  }
  endAfterTest(startDeliverer({ ...ports, db: slow }, { idleMs: 10, drainMs: 500 }))
  await shop.count(1)
  await happen('payment:late:second')
  await until(made.id, claimed(2))
  skip(300)
  await happen('payment:late:third')
  await until(made.id, settled)
  assert.deepEqual(shop.order, ['first', 'second', 'third'])
})

test('nor by one that waits for a place meanwhile', async (t) => {
  const skip = skippingClock(t)
  const order: string[] = []
  const held: (() => void)[] = []
  const shop = await receiver(({ body, response }) => {
    const [, subject, step] = JSON.parse(body).data.cause.split(':')
    if (subject === 'full') order.push(step)
    if (subject !== 'full' || step === 'first') held.push(() => response.end())
    else response.end()
  })
  const { endpoint: made } = await endpoint(shop.url)
  const again = Promise.withResolvers<void>()
  let claims = 0
  const watched: Database = {
    ...db,
    async query<Row>(...asked: Parameters<Queryable['query']>) {
      const answer = await db.query<Row>(...asked)
      const isClaim = /^with recursive/.test(asked[0])
      if (isClaim && JSON.stringify(answer.rows).includes('payment:full:second') && ++claims === 2)
        again.resolve()
      return answer
    },
  }
  await happen('payment:full:first')
  for (let n = 0; n < 10; n++) await happen(`payment:busy${n}:created`)
  // Twelve under way, and three that wait for a place.
  endAfterTest(startDeliverer({ ...ports, db: watched }, { inFlightMax: 12, idleMs: 10, drainMs: 500 }))
  await shop.count(11)
  await happen('payment:full:second')
  await until(made.id, claimed(12))
  skip(200)
  for (const cause of ['payment:busy10:created', 'payment:busy11:created', 'payment:full:third'])
    await happen(cause)
  await until(made.id, claimed(15))
  skip(100)
  held.shift()?.()
  await again.promise
  for (const answer of held.splice(0)) answer()
  await shop.count(13)
  for (const answer of held.splice(0)) answer()
  await until(made.id, settled)
  assert.deepEqual(order, ['first', 'second', 'third'])
})

test('two workers share the queue, and nothing is sent twice', async () => {
  const shop = await receiver(({ response }) => setTimeout(() => response.end(), 5))
  const { endpoint: made } = await endpoint(shop.url)
  for (let n = 0; n < 300; n++) await happen()
  deliverer({ inFlightMax: 7 })
  deliverer({ inFlightMax: 11 })
  await until(made.id, settled)
  assert.equal(shop.requests.length, 300)
  assert.equal(new Set(shop.requests.map(({ id }) => id)).size, 300)
})

test('a worker killed in mid-delivery is not counted, and the event comes once more with the same id', async () => {
  const shop = await receiver((received, nth) => {
    if (nth > 1) ok(received)
  })
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  const child = fork(
    new URL('../../test/deliver-until-killed.ts', import.meta.url),
    [db.url, key.toString('hex')],
    {
      stdio: 'inherit',
    },
  )
  const died = once(child, 'exit')
  await shop.count(1)
  child.kill('SIGKILL')
  await died
  const [leased] = await deliveriesOf(made.id)
  assert.deepEqual([leased?.status, leased?.attempts, leased?.tries], ['pending', 0, []])
  assert.ok(leased?.dueInMs && leased.dueInMs > 0 && leased.dueInMs <= 60_000)
  // A minute passes.
  await db.query(
    `update deliveries set leased_until = leased_until - interval '1 minute' where endpoint_id = $1`,
    [made.id],
  )
  deliverer()
  const [row] = await until(made.id, settled)
  assert.deepEqual([row?.status, row?.attempts], ['delivered', 1])
  assert.equal(shop.requests.length, 2)
  assert.equal(shop.requests[0]?.id, shop.requests[1]?.id)
})

test('a worker that stops gives back what it cuts off, uncounted and due at once', async () => {
  const shop = await receiver((received, nth) => {
    if (nth > 2) ok(received)
  })
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  await happen()
  const first = deliverer({ drainMs: 20 })
  await shop.count(2)
  await first.stop()
  for (const row of await deliveriesOf(made.id)) {
    assert.deepEqual([row.status, row.attempts], ['pending', 0])
    assert.ok(row.dueInMs !== null && row.dueInMs <= 0)
  }
  deliverer()
  const rows = await until(made.id, settled)
  assert.deepEqual(
    rows.map(({ status, attempts }) => [status, attempts]),
    [
      ['delivered', 1],
      ['delivered', 1],
    ],
  )
})

test('a worker that woke up after its lease ended changes nothing, unless it succeeded', async () => {
  const waiting: Received[] = []
  const shop = await receiver((received) => void waiting.push(received))
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  await happen()
  const worker = deliverer()
  await shop.count(2)
  // Another worker claimed both after a minute.
  await db.query(
    `update deliveries set leased_until = leased_until + interval '30 seconds' where endpoint_id = $1`,
    [made.id],
  )
  const [first, second] = waiting
  first?.response.writeHead(500).end()
  second?.response.end()
  const rows = await until(made.id, (all) => all.some(({ status }) => status === 'delivered'))
  await worker.stop()
  assert.deepEqual(rows.map(({ status, attempts }) => [status, attempts]).sort(), [
    ['delivered', 1],
    ['pending', 0],
  ])
})
