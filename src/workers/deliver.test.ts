/** What an endpoint is sent, when it is tried again, and when it is given up. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Webhook } from 'standardwebhooks'
import { ok, type Received, receiver, settled, testDeliveries, tried } from '../../test/deliveries.ts'
import { waitFor } from '../../test/wait-for.ts'
import { showId } from '../core/ids.ts'
import type { Span } from '../core/trace.ts'
import type { Database, Queryable } from '../db/database.ts'
import { Unreachable } from '../db/failures.ts'
import {
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  rotateWebhookSecret,
} from '../events/webhook-endpoints.sql.ts'
import { startDeliverer } from './deliver.ts'
import { startForgetter } from './forget.ts'

const {
  db,
  account,
  ports,
  deliverer,
  endAfterTest,
  endpoint,
  happen,
  deliveriesOf,
  until,
  makeDue,
  failing,
} = await testDeliveries()

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

test('a failed attempt is traced without its receiver, whom the merchant finds named', async () => {
  const spans: Span[] = []
  const { endpoint: made } = await endpoint('http://shop.example/hook')
  await happen()
  const traces = { add: (span: Span) => void spans.push(span) }
  endAfterTest(
    startDeliverer({ ...ports, traces }, { idleMs: 10, sender: { resolve: () => Promise.resolve([]) } }),
  )
  const [row] = await until(made.id, tried)
  assert.equal(row?.tries[0]?.error, 'shop.example has no address')
  assert.deepEqual(
    spans.map(({ name, failure }) => [name, failure]),
    [['webhook payment.created', 'no complete answer']],
  )
  assert.doesNotMatch(JSON.stringify(spans), /shop/)
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
  const { rows: acts } = await db.query(
    `select actor_kind, after from audit_log where action = 'webhook.disable' and subject = $1`,
    [showId('whk', made.id)],
  )
  assert.deepEqual(
    acts,
    [{ actor_kind: 'system', after: { reason: 'gone' } }],
    'recorded once, so that it is mailed',
  )
  await happen()
  assert.equal((await deliveriesOf(made.id)).length, 3)
})

test('five days without a success disable the endpoint, a success in between does not', async () => {
  let status = 500
  const shop = await receiver(({ response }) => response.writeHead(status).end())
  const { endpoint: made } = await endpoint(shop.url)
  const failingFor = async (days: number) =>
    await db.query(
      'update webhook_endpoints set failing_since = now() - make_interval(days => $2), failed_at = now() where id = $1',
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

test('one bad answer after weeks without any event ends nothing', async () => {
  const shop = await receiver(({ response }) => response.writeHead(502).end())
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  deliverer()
  await until(made.id, tried)
  await failing(made.id)
  await db.query(
    `update webhook_endpoints set failing_since = now() - interval '20 days', failed_at = now() - interval '17 days' where id = $1`,
    [made.id],
  )
  await makeDue(made.id)
  const [row] = await until(made.id, (rows) => rows.every(({ attempts }) => attempts === 2))
  assert.equal(row?.status, 'pending')
  const found = await waitFor('it begins anew', async () => {
    const now = await findWebhookEndpoint(db, account, made.id)
    return now?.failingSince && now.failingSince.getTime() > Date.now() - 60_000 ? now : null
  })
  assert.equal(found.isActive, true)
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

test('events go after thirty days with their deliveries and attempts, unless one still waits', async () => {
  const shop = await receiver(ok)
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  const worker = deliverer()
  await until(made.id, settled)
  await worker.stop()
  await happen()
  const events = async () =>
    await db.query<{ id: string }>('select event_id as id from deliveries where endpoint_id = $1', [made.id])
  assert.equal((await events()).rows.length, 2)
  await db.query(`update events set created_at = now() - interval '29 days'`)
  const early = startForgetter(ports)
  await early.stop()
  assert.equal((await events()).rows.length, 2)
  await db.query(`update events set created_at = now() - interval '31 days'`)
  endAfterTest(startForgetter(ports, { idleMs: 10 }))
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

/** The database, which is away so many times when deliveries are given back. */
function awayAtFirst(times: number): Database {
  let left = times
  return {
    ...db,
    async query<Row>(...asked: Parameters<Queryable['query']>) {
      if (asked[0].includes('unsendable') && left-- > 0) throw new Unreachable('away', { retryable: true })
      return await db.query<Row>(...asked)
    },
  }
}

test('what can not be given back while the database is away is given back afterwards, and sent', async () => {
  const shop = await receiver(({ response }, nth) => {
    setTimeout(() => response.end(), nth === 1 ? 500 : 0)
  })
  const { endpoint: made } = await endpoint(shop.url)
  await happen('payment:slow:created')
  // Waits behind the first of its payment until its claim is too old.
  await happen('payment:slow:completed')
  endAfterTest(startDeliverer({ ...ports, db: awayAtFirst(2) }, { idleMs: 10 }))
  const began = performance.now()
  await until(made.id, settled)
  assert.ok(performance.now() - began < 30_000, 'long before its lease ends')
  assert.equal(shop.requests.length, 2)
})

test('a worker that can not give back what it cuts off closes its connections all the same, and can be stopped again', async () => {
  const answers: Received['response'][] = []
  const shop = await receiver(({ response }, nth) => {
    answers.push(response)
    // Two connections; the third request leaves one of them idle.
    if (nth === 2) for (const answer of answers) answer.end()
  })
  const { endpoint: made } = await endpoint(shop.url)
  await happen()
  await happen()
  const worker = startDeliverer({ ...ports, db: awayAtFirst(1) }, { idleMs: 10, drainMs: 20 })
  endAfterTest(worker)
  await until(made.id, settled)
  const sockets = answers.map(({ req }) => req.socket)
  await happen()
  await shop.count(3)
  await assert.rejects(worker.stop(), Unreachable)
  await waitFor('they are closed', async () => sockets.every(({ destroyed }) => destroyed) || null, 3_000)
  await worker.stop()
  const rows = await deliveriesOf(made.id)
  assert.ok(rows.some(({ status, dueInMs }) => status === 'pending' && dueInMs !== null && dueInMs <= 0))
})

test('what can not be signed waits for a minute behind all others, and keeps nobody from what it is told', async () => {
  const shop = await receiver(ok)
  const { endpoint: broken } = await endpoint(shop.url)
  for (let i = 0; i < 3; i++) await happen()
  await db.query(`update webhook_endpoints set secret_sealed = 'changed' where id = $1`, [broken.id])
  const { endpoint: whole } = await endpoint(shop.url)
  await happen()
  deliverer({ perEndpointMax: 1 })
  await until(whole.id, settled)
  await waitFor('all of them wait, and no worker has one', async () => {
    const { rowCount } = await db.query(
      `select from deliveries where endpoint_id = $1 and status = 'pending' and attempts = 0 and leased_until is null
         and due_at > now()`,
      [broken.id],
    )
    return rowCount === 4 || null
  })
})
