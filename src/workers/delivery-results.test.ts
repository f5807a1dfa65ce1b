/** What attempts met is written down: once for each delivery, and whatever else can not be. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testDeliveries } from '../../test/deliveries.ts'
import { waitFor } from '../../test/wait-for.ts'
import { newId, showId } from '../core/ids.ts'
import { type Log, SILENT } from '../core/log.ts'
import type { Database, Queryable } from '../db/database.ts'
import { Unreachable } from '../db/failures.ts'
import { type ClaimedDelivery, claimDeliveries } from '../events/deliveries.sql.ts'
import type { Verdict } from '../events/delivery.ts'
import { type DeliveryResult, startDeliveryResults } from './delivery-results.ts'

const { db, endpoint, happen, deliveriesOf, makeDue, until } = await testDeliveries()

const claim = (): Promise<ClaimedDelivery[]> =>
  claimDeliveries(db, {
    limit: 10,
    perEndpointMax: 10,
    perFailingEndpointMax: 10,
    perAccountMax: 10,
    inFlight: new Map(),
    inFlightOfAccounts: new Map(),
  })

const met = (delivery: ClaimedDelivery, verdict: Verdict, durationMs = 5): DeliveryResult => ({
  delivery,
  outcome: {
    kind: 'answered',
    status: verdict.kind === 'delivered' ? 200 : 503,
    start: '',
    retryAfter: null,
  },
  verdict,
  startedAt: new Date(),
  durationMs,
})

/** For the metrics. */
async function countAttempts(): Promise<number> {
  const { rows } = await db.query<{ attempts: number }>(
    'select coalesce(sum(attempts), 0)::float8 as attempts from delivery_totals',
  )
  return rows[0]?.attempts ?? 0
}

const DELIVERED = { kind: 'delivered' } as const
const RETRY = { kind: 'retry', delayMs: 60_000 } as const

for (const [first, second, status] of [
  [RETRY, RETRY, 'pending'],
  [DELIVERED, RETRY, 'delivered'],
  [RETRY, DELIVERED, 'delivered'],
] as const) {
  test(`a delivery that met ${first.kind}, and ${second.kind} before that was written down, is ${status} after one attempt`, async () => {
    const { endpoint: made } = await endpoint('https://shop.example/hook')
    await happen()
    const [before] = await claim()
    // Its lease ended, and the same worker took it again.
    await makeDue(made.id)
    const [again] = await claim()
    assert.ok(before && again && again.leasedUntil > before.leasedUntil)
    const results = startDeliveryResults(db, SILENT)
    results.add(met(before, first))
    results.add(met(again, second))
    await results.stop()
    const [row] = await deliveriesOf(made.id)
    assert.deepEqual([row?.status, row?.attempts, row?.tries.length], [status, 1, 1])
  })
}

test('what can never be written down is said, and holds up no other', async () => {
  const { endpoint: made } = await endpoint('https://shop.example/hook')
  for (let n = 0; n < 3; n++) await happen()
  const [one, odd, other] = await claim()
  assert.ok(one && odd && other)
  const said: unknown[] = []
  const log: Log = { ...SILENT, error: (...line: unknown[]) => void said.push(line[0]) }
  const results = startDeliveryResults(db, log)
  results.add(met(one, DELIVERED))
  results.add(met(odd, DELIVERED, -1))
  results.add(met(other, DELIVERED))
  await results.stop()
  const rows = await deliveriesOf(made.id)
  assert.deepEqual(rows.map(({ status }) => status).sort(), ['delivered', 'delivered', 'pending'])
  assert.deepEqual(
    said.map((line) => (line as { delivery: unknown }).delivery),
    [odd && showId('dlv', odd.id)],
  )
})

test('what was written before the connection broke is judged then, and the rest is written later', async () => {
  const { endpoint: made } = await endpoint('https://shop.example/hook')
  for (let n = 0; n < 3; n++) await happen()
  const [one, odd, other] = await claim()
  assert.ok(one && odd && other)
  const before = await countAttempts()
  let statements = 0
  const breaking: Database = {
    ...db,
    async query<Row>(...asked: Parameters<Queryable['query']>) {
      // All of them, one, and then the next.
      if (++statements === 3) throw new Unreachable('away', { retryable: true })
      return await db.query<Row>(...asked)
    },
  }
  const results = startDeliveryResults(breaking, SILENT)
  results.add(met(one, RETRY))
  results.add(met(odd, RETRY, -1))
  results.add(met(other, DELIVERED))
  const rows = await until(made.id, (found) => found.some(({ status }) => status === 'delivered'))
  await results.stop()
  assert.deepEqual(rows.map(({ attempts }) => attempts).sort(), [0, 1, 1])
  assert.equal((await countAttempts()) - before, 3)
})

test('of more results at once than one statement takes none is left lying', async () => {
  const { endpoint: made } = await endpoint('https://shop.example/hook')
  await happen()
  const [delivery] = await claim()
  assert.ok(delivery)
  const before = await countAttempts()
  const results = startDeliveryResults(db, SILENT)
  const began = performance.now()
  // None of these is a delivery's that stands: each is counted, and changes nothing.
  for (let n = 0; n < 700; n++)
    results.add(met({ ...delivery, endpointId: made.id, id: newId('dlv') }, DELIVERED))
  await waitFor('all are written', async () => ((await countAttempts()) === before + 700 ? true : null))
  assert.ok(performance.now() - began < 30_000, 'without waiting for the next look of an idle loop')
  await results.stop()
})
