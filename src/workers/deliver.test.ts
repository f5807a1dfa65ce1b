import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { after, afterEach } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { testDatabase } from '../../test/database.ts'
import { type AccountId, newId, type WebhookEndpointId } from '../core/ids.ts'
import { SILENT } from '../core/log.ts'
import { openSecrets } from '../core/secrets.ts'
import { announce } from '../events/announce.sql.ts'
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  rotateWebhookSecret,
} from '../events/webhook-endpoints.sql.ts'
import { type DelivererOptions, startDeliverer } from './deliver.ts'
import { startForgetter } from './forget.ts'
import type { Loop } from './loop.ts'

const db = await testDatabase()
const key = randomBytes(32)
const ports = { db, secrets: openSecrets(key), log: SILENT, settings: { webhookAllowPrivate: true } }
const account = newId('acct')
await db.query(
  `insert into accounts (id, name, email, mode, currency) values ($1, 'Shop', 'shop@example.com', 'test', 'EUR')`,
  [account],
)

const running: Loop[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((loop) => loop.stop()))
  await db.query(`update webhook_endpoints set is_active = false`)
  await db.query(`update deliveries set status = 'cancelled', due_at = null where status = 'pending'`)
})

function deliverer(options: DelivererOptions = {}): Loop {
  const loop = startDeliverer(ports, { idleMs: 10, drainMs: 500, ...options })
  running.push(loop)
  return loop
}

interface Received {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly response: ServerResponse
}

/** A receiver that answers as told, and whoever waits for its n-th request. */
async function receiver(answer: (received: Received, nth: number) => void) {
  const requests: Received[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    const received = { id: String(request.headers['webhook-id']), headers: request.headers, body, response }
    requests.push(received)
    answer(received, requests.length)
    server.emit('received')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async count(expected: number) {
      while (requests.length < expected)
        await once(server, 'received', { signal: AbortSignal.timeout(10_000) })
    },
  }
}

const ok = ({ response }: Received) => response.end('thanks')
const never = () => {}

const endpoint = (
  url: string,
  events: readonly ('payment.created' | 'payment.completed')[] = ['payment.created'],
) => db.transaction((tx) => createWebhookEndpoint(tx, ports.secrets, { accountId: account, url, events }))

let causes = 0
const happen = (cause = `payment:${++causes}:created`, accountId: AccountId = account) =>
  db.transaction((tx) =>
    announce(tx, { accountId, type: 'payment.created', cause, data: { id: 'pay_1', cause } }),
  )

interface DeliveryRow {
  readonly status: string
  readonly attempts: number
  readonly dueInMs: number | null
  readonly tries: { status: number | null; start: string | null; error: string | null }[]
}

const deliveriesOf = async (id: WebhookEndpointId): Promise<DeliveryRow[]> => {
  const { rows } = await db.query<DeliveryRow>(
    `select d.status, d.attempts, (extract(epoch from d.due_at - now()) * 1000)::float8 as "dueInMs",
       coalesce((select json_agg(json_build_object('status', a.response_status, 'start', a.response_start,
           'error', a.error) order by a.number)
         from delivery_attempts a where a.delivery_id = d.id), '[]') as tries
     from deliveries d where d.endpoint_id = $1 order by d.id`,
    [id],
  )
  return rows
}

/** Waits for a state of the deliveries of an endpoint. */
async function until(id: WebhookEndpointId, holds: (rows: DeliveryRow[]) => boolean): Promise<DeliveryRow[]> {
  const end = performance.now() + 10_000
  for (;;) {
    const rows = await deliveriesOf(id)
    if (holds(rows)) return rows
    assert.ok(performance.now() < end, `never came: ${JSON.stringify(rows)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
const settled = (rows: DeliveryRow[]) => rows.every(({ status }) => status !== 'pending')
const tried = (rows: DeliveryRow[]) => rows.every(({ attempts }) => attempts > 0)
const makeDue = (id: WebhookEndpointId) =>
  db.query(`update deliveries set due_at = now() where endpoint_id = $1 and status = 'pending'`, [id])

/** Waits until the endpoint is marked as failing, or no longer is: that follows the record of the attempt. */
async function failing(id: WebhookEndpointId, expected = true): Promise<void> {
  for (const end = performance.now() + 10_000; ; ) {
    const { rows } = await db.query<{ failing: boolean }>(
      'select failing_since is not null as failing from webhook_endpoints where id = $1',
      [id],
    )
    if (rows[0]?.failing === expected) return
    assert.ok(performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('an event arrives once, signed, at each endpoint subscribed to it, and the attempt is kept', async () => {
  const [first, second, other] = [await receiver(ok), await receiver(ok), await receiver(ok)]
  const subscribed = [await endpoint(first.url), await endpoint(second.url)]
  await endpoint(other.url, ['payment.completed'])
  assert.equal(await happen('payment:p:created'), true)
  assert.equal(await happen('payment:p:created'), false)
  deliverer()
  await Promise.all([first.count(1), second.count(1)])
  for (const [index, { endpoint, secret }] of subscribed.entries()) {
    const [request] = [first, second][index]?.requests ?? []
    assert.ok(request)
    const event = new Webhook(secret).verify(request.body, request.headers as Record<string, string>)
    assert.deepEqual(event, { ...JSON.parse(request.body), id: request.id, type: 'payment.created' })
    assert.deepEqual(JSON.parse(request.body).data, { id: 'pay_1', cause: 'payment:p:created' })
    assert.equal(request.headers['content-type'], 'application/json')
    assert.equal(request.headers['user-agent'], 'Beck')
    const rows = await until(endpoint.id, settled)
    assert.deepEqual(rows, [
      {
        status: 'delivered',
        attempts: 1,
        dueInMs: null,
        tries: [{ status: 200, start: 'thanks', error: null }],
      },
    ])
  }
  assert.deepEqual([first.requests.length, second.requests.length, other.requests.length], [1, 1, 0])
})

test('a failure is tried again after five seconds, under the same id, until it succeeds', async () => {
  const shop = await receiver(({ response }, nth) => response.writeHead(nth === 1 ? 500 : 200).end(`${nth}`))
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  deliverer()
  const [failed] = await until(made.id, tried)
  assert.ok(failed?.status === 'pending' && failed.dueInMs !== null)
  assert.ok(failed.dueInMs > 3_000 && failed.dueInMs <= 6_000, String(failed.dueInMs))
  await makeDue(made.id)
  const [delivered] = await until(made.id, settled)
  assert.equal(delivered?.status, 'delivered')
  assert.deepEqual(
    delivered?.tries.map(({ status, start }) => [status, start]),
    [
      [500, '1'],
      [200, '2'],
    ],
  )
  assert.equal(shop.requests[0]?.id, shop.requests[1]?.id)
})

test('Retry-After is honoured, and after the tenth failure it is given up', async () => {
  const shop = await receiver(({ response }) => response.writeHead(429, { 'retry-after': '900' }).end())
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  deliverer()
  const [asked] = await until(made.id, tried)
  assert.ok(asked?.dueInMs && asked.dueInMs > 880_000 && asked.dueInMs <= 900_000)
  for (let attempt = 2; attempt <= 10; attempt++) {
    await makeDue(made.id)
    await until(made.id, ([row]) => row?.attempts === attempt)
  }
  const [row] = await deliveriesOf(made.id)
  assert.equal(row?.status, 'failed')
})

test('410 disables the endpoint at once, and what waits for it is cancelled', async () => {
  const shop = await receiver(({ response }) => response.writeHead(410).end())
  const { endpoint: made } = await endpoint(shop.url)
  for (let n = 0; n < 3; n++) await happen()
  deliverer({ perEndpointMax: 1 })
  const rows = await until(made.id, settled)
  const statuses = rows.map(({ status }) => status)
  assert.ok(statuses.includes('failed') && statuses.includes('cancelled'), statuses.join())
  const found = await findWebhookEndpoint(db, account, made.id)
  assert.deepEqual([found?.isActive, found?.disabledReason], [false, 'gone'])
  await happen()
  assert.equal((await deliveriesOf(made.id)).length, 3)
})

test('five days without a success disable the endpoint, a success in between does not', async () => {
  let status = 500
  const shop = await receiver(({ response }) => response.writeHead(status).end())
  const { endpoint: made } = await endpoint(shop.url)
  const failingFor = async (days: number) =>
    await db.query(
      'update webhook_endpoints set failing_since = now() - make_interval(days => $2) where id = $1',
      [made.id, days],
    )
  await happen()
  deliverer()
  await until(made.id, tried)
  await failing(made.id)
  await failingFor(6)
  status = 200
  await makeDue(made.id)
  await until(made.id, settled)
  await failing(made.id, false)
  status = 500
  await happen()
  await until(made.id, tried)
  await failing(made.id)
  assert.equal((await findWebhookEndpoint(db, account, made.id))?.isActive, true)
  await failingFor(6)
  await makeDue(made.id)
  await until(made.id, settled)
  const found = await findWebhookEndpoint(db, account, made.id)
  assert.deepEqual([found?.isActive, found?.disabledReason], [false, 'failing'])
})

test('during a rotation the receiver may know the old or the new secret', async () => {
  const shop = await receiver(ok)
  const { endpoint: made, secret: older } = await endpoint(shop.url)
  const rotated = await db.transaction((tx) => rotateWebhookSecret(tx, ports.secrets, account, made.id))
  assert.ok(rotated)
  await happen()
  deliverer()
  await shop.count(1)
  const verify = (secret: string, { body, headers }: Received) =>
    new Webhook(secret).verify(body, headers as Record<string, string>)
  const [during] = shop.requests
  assert.ok(during)
  for (const secret of [older, rotated.secret]) assert.ok(verify(secret, during))

  await db.query('update webhook_endpoints set previous_secret_until = now() where id = $1', [made.id])
  await happen()
  await shop.count(2)
  const [, later] = shop.requests
  assert.ok(later)
  assert.ok(verify(rotated.secret, later))
  assert.throws(() => verify(older, later))
})

test('a deleted endpoint gets nothing, even what was announced while it was deleted', async () => {
  const shop = await receiver(ok)
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  await db.transaction((tx) => deleteWebhookEndpoint(tx, account, made.id))
  // The announcing transaction saw the endpoint still alive and commits after the deletion.
  await db.query(
    `update deliveries set status = 'pending', due_at = now(), finished_at = null where endpoint_id = $1`,
    [made.id],
  )
  deliverer()
  const rows = await until(made.id, settled)
  assert.deepEqual(
    rows.map(({ status, attempts }) => [status, attempts]),
    [['cancelled', 0]],
  )
  assert.equal(shop.requests.length, 0)
})

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

test('an endpoint that fails holds few places until it succeeds again', async () => {
  let works = false
  const shop = await receiver(({ response }) => {
    if (works) response.end()
  })
  const { endpoint: made } = await endpoint(shop.url)
  for (let n = 0; n < 30; n++) await happen()
  await db.query('update webhook_endpoints set failing_since = now() where id = $1', [made.id])
  deliverer({ perEndpointMax: 10, perFailingEndpointMax: 2, sender: { timeoutMs: 200 } })
  await shop.count(2)
  await until(made.id, (rows) => rows.filter(({ attempts }) => attempts > 0).length >= 2)
  assert.ok(shop.requests.length <= 4)
  works = true
  await until(made.id, (rows) => rows.filter(({ status }) => status === 'delivered').length >= 26)
})

test('the events of one payment arrive one after the other', async () => {
  const order: string[] = []
  let open = 0
  const shop = await receiver(({ body, response }) => {
    open += 1
    assert.equal(open, 1)
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
  assert.deepEqual(order, steps)
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
  await db.query(`update deliveries set due_at = due_at - interval '1 minute' where endpoint_id = $1`, [
    made.id,
  ])
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
  deliverer()
  await shop.count(2)
  // Another worker claimed both after a minute.
  await db.query(`update deliveries set due_at = due_at + interval '30 seconds' where endpoint_id = $1`, [
    made.id,
  ])
  const [first, second] = waiting
  first?.response.writeHead(500).end()
  second?.response.end()
  const rows = await until(made.id, (all) => all.some(({ status }) => status === 'delivered'))
  await running.pop()?.stop()
  assert.deepEqual(rows.map(({ status, attempts }) => [status, attempts]).sort(), [
    ['delivered', 1],
    ['pending', 0],
  ])
})

test('events go after thirty days with their deliveries and attempts, unless one still waits', async () => {
  const shop = await receiver(ok)
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  deliverer()
  await until(made.id, settled)
  await running.pop()?.stop()
  await happen()
  const events = async () =>
    await db.query<{ id: string }>('select event_id as id from deliveries where endpoint_id = $1', [made.id])
  assert.equal((await events()).rows.length, 2)
  await db.query(`update events set created_at = now() - interval '29 days'`)
  const early = startForgetter(ports)
  await early.stop()
  assert.equal((await events()).rows.length, 2)
  await db.query(`update events set created_at = now() - interval '31 days'`)
  const forgetter = startForgetter(ports, { idleMs: 10 })
  running.push(forgetter)
  const kept = await until(made.id, (rows) => rows.length === 1)
  assert.deepEqual(
    kept.map(({ status }) => status),
    ['pending'],
  )
  const { rows: attempts } = await db.query(
    'select from delivery_attempts a left join deliveries d on d.id = a.delivery_id where d.id is null',
  )
  assert.equal(attempts.length, 0)
  await db.query('update events set created_at = now()')
})
