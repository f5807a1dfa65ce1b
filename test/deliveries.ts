/** A deliverer, receivers that answer as told, and the rows of what they were sent. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach } from 'node:test'
import type { WebhookEndpointId } from '../src/core/ids.ts'
import { SILENT } from '../src/core/log.ts'
import { openSecrets } from '../src/core/secrets.ts'
import { announce } from '../src/events/announce.sql.ts'
import { createWebhookEndpoint } from '../src/events/webhook-endpoints.sql.ts'
import { type DelivererOptions, startDeliverer } from '../src/workers/deliver.ts'
import type { Loop } from '../src/workers/loop.ts'
import { testDatabase } from './database.ts'
import { testAccount } from './gateway.ts'
import { USUAL_KEPT_DAYS } from './kept-days.ts'
import { until, waitFor } from './wait-for.ts'

export interface Received {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly response: ServerResponse
}

/** A receiver that answers as told, and whoever waits for its n-th request. Closed when the test file ends. */
export async function receiver(answer: (received: Received, nth: number) => void) {
  const requests: Received[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    const received = { id: String(request.headers['webhook-id']), headers: request.headers, body, response }
    requests.push(received)
    answer(received, requests.length)
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
    count: (expected: number) => until(`${expected} requests came`, async () => requests.length >= expected),
  }
}

export const ok = ({ response }: Received) => response.end('thanks')
export const never = () => {}

export interface DeliveryRow {
  readonly status: string
  readonly attempts: number
  readonly dueInMs: number | null
  readonly tries: { status: number | null; start: string | null; error: string | null }[]
}

/** All of them have come to an end; all were tried. */
export const settled = (rows: readonly DeliveryRow[]) =>
  rows.length > 0 && rows.every(({ status }) => status !== 'pending')
export const tried = (rows: readonly DeliveryRow[]) =>
  rows.length > 0 && rows.every(({ attempts }) => attempts > 0)

/** Deliveries of one account. After each test its loops have ended and nothing waits any more. */
export async function testDeliveries() {
  const db = await testDatabase()
  const key = randomBytes(32)
  const ports = {
    db,
    secrets: openSecrets(key),
    log: SILENT,
    settings: { webhookAllowPrivate: true, keptDays: USUAL_KEPT_DAYS },
  }
  const { id: account } = await testAccount(ports)
  const running: Loop[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((loop) => loop.stop()))
    await db.query(`update webhook_endpoints set is_active = false`)
    await db.query(
      `update deliveries set status = 'cancelled', due_at = null, leased_until = null where status = 'pending'`,
    )
  })
  const endAfterTest = (loop: Loop): Loop => {
    running.push(loop)
    return loop
  }
  let causes = 0

  async function deliveriesOf(id: WebhookEndpointId): Promise<DeliveryRow[]> {
    const { rows } = await db.query<DeliveryRow>(
      `select d.status, d.attempts, (extract(epoch from greatest(d.due_at, d.leased_until) - now()) * 1000)::float8 as "dueInMs",
         coalesce((select json_agg(json_build_object('status', a.response_status, 'start', a.response_start,
             'error', a.error) order by a.number)
           from delivery_attempts a where a.delivery_id = d.id), '[]') as tries
       from deliveries d where d.endpoint_id = $1 order by d.id`,
      [id],
    )
    return rows
  }

  return {
    db,
    key,
    ports,
    account,
    deliveriesOf,
    /** Ends a loop after the test. */
    endAfterTest,
    deliverer(options: DelivererOptions = {}): Loop {
      return endAfterTest(startDeliverer(ports, { idleMs: 10, drainMs: 500, ...options }))
    },
    endpoint: (
      url: string,
      events: readonly ('payment.created' | 'payment.completed')[] = ['payment.created'],
      accountId = account,
    ) => db.transaction((tx) => createWebhookEndpoint(tx, ports.secrets, { accountId, url, events })),
    /** Announces an event. @returns Whether it is new. */
    happen: (cause = `payment:${++causes}:created`, accountId = account): Promise<boolean> =>
      db.transaction((tx) =>
        announce(tx, {
          accountId,
          type: 'payment.created',
          cause,
          data: { id: 'pay_1', cause },
        }),
      ),
    /** Waits for a state of the deliveries of an endpoint. */
    until: (id: WebhookEndpointId, holds: (rows: DeliveryRow[]) => boolean): Promise<DeliveryRow[]> =>
      waitFor(`deliveries are so: ${holds}`, async () => {
        const rows = await deliveriesOf(id)
        return holds(rows) ? rows : null
      }),
    makeDue: (id: WebhookEndpointId) =>
      db.query(
        `update deliveries set due_at = now(), leased_until = null where endpoint_id = $1 and status = 'pending'`,
        [id],
      ),
    /** Waits until the endpoint is marked as failing, or no longer is: that follows the record of the attempt. */
    failing: (id: WebhookEndpointId, expected = true) =>
      until(`the endpoint ${expected ? 'fails' : 'is well'}`, async () => {
        const { rows } = await db.query<{ failing: boolean }>(
          'select failing_since is not null as failing from webhook_endpoints where id = $1',
          [id],
        )
        return rows[0]?.failing === expected
      }),
  }
}
