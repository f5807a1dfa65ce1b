/** What a claim, its lease, and whoever sends again do to the queue. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testDeliveries } from '../../test/deliveries.ts'
import type { Queryable } from '../db/database.ts'
import { oneRow } from '../db/rows.ts'
import { readBacklog } from '../flows/operation/health.sql.ts'
import { type ClaimedDelivery, claimDeliveries, returnDeliveries } from './deliveries.sql.ts'
import { redeliver } from './list-deliveries.sql.ts'

const { db, account, endpoint, happen, deliveriesOf } = await testDeliveries()

const claim = (limit: number, on: Queryable = db): Promise<ClaimedDelivery[]> =>
  claimDeliveries(on, {
    limit,
    perEndpointMax: limit,
    perFailingEndpointMax: limit,
    perAccountMax: limit,
    inFlight: new Map(),
    inFlightOfAccounts: new Map(),
  })

async function makeWaiting(count: number) {
  const { endpoint: made } = await endpoint('https://shop.example/hook')
  for (let i = 0; i < count; i++) await happen()
  return made
}
const moveBack = (column: 'due_at' | 'leased_until', seconds: number, ids: readonly string[]) =>
  db.query(
    `update deliveries set ${column} = ${column} - make_interval(secs => $1) where id = any($2::uuid[])`,
    [seconds, ids],
  )
const idsOf = (claimed: readonly ClaimedDelivery[]) => claimed.map(({ id }) => id)

test('a claim writes rows in their own pages, and no index', async () => {
  await makeWaiting(30)
  const updated = await db.transaction(async (tx) => {
    assert.equal((await claim(30, tx)).length, 30)
    return oneRow<{ all: bigint; withoutIndex: bigint }>(
      tx,
      `select pg_stat_get_xact_tuples_updated('deliveries'::regclass) as "all",
         pg_stat_get_xact_tuples_hot_updated('deliveries'::regclass) as "withoutIndex"`,
    )
  })
  assert.deepEqual(updated, { all: 30n, withoutIndex: 30n })
})

test('what is leased is claimed by nobody until its lease ends, and what waits behind it is', async () => {
  await makeWaiting(3)
  const first = await claim(2)
  const second = await claim(3)
  assert.deepEqual([first.length, second.length], [2, 1])
  assert.deepEqual(await claim(3), [])
  await moveBack('leased_until', 60, idsOf(first))
  assert.deepEqual(idsOf(await claim(3)).sort(), idsOf(first).sort())
})

test('what is given back is due at once, and behind all others for a minute when it could not be sent', async () => {
  const made = await makeWaiting(2)
  const [one, other] = await claim(2)
  assert.ok(one && other)
  await returnDeliveries(db, [
    { ...one, isUnsendable: true },
    { ...other, isUnsendable: false },
  ])
  assert.deepEqual(idsOf(await claim(2)), [other.id])
  const dues = (await deliveriesOf(made.id)).map(({ dueInMs }) => Math.round((dueInMs ?? 0) / 10_000))
  assert.deepEqual(dues.sort(), [6, 6], 'a lease, and a time to try again')
})

test('a delivery that is being sent is left alone by who sends it again; one that waits is due now', async () => {
  const made = await makeWaiting(1)
  const again = (id: ClaimedDelivery['id']) => db.transaction((tx) => redeliver(tx, account, made.id, id))
  const [sent] = await claim(1)
  assert.ok(sent)
  await again(sent.id)
  assert.deepEqual(await claim(1), [])
  await returnDeliveries(db, [{ ...sent, isUnsendable: true }])
  assert.deepEqual(await claim(1), [])
  await again(sent.id)
  assert.deepEqual(idsOf(await claim(1)), [sent.id])
})

test('the delivery that is due the longest is told of, but for those that are being sent', async () => {
  const dueMinutes = async () => Math.round((await readBacklog(db)).deliveryDueAgeMs / 1_000 / 60)
  await makeWaiting(2)
  const [older, younger] = await claim(2)
  assert.ok(older && younger)
  await moveBack('due_at', 600, [older.id])
  await moveBack('due_at', 300, [younger.id])
  assert.equal(await dueMinutes(), 0)
  await returnDeliveries(db, [{ ...younger, isUnsendable: false }])
  assert.equal(await dueMinutes(), 5)
  await moveBack('leased_until', 60, [older.id])
  assert.equal(await dueMinutes(), 10)
})
