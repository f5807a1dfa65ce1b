/** What is signed goes out, whatever keeps other transactions from it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellPayouts } from '../../../test/payout-story.ts'
import { signAll } from '../../../test/payouts.ts'
import type { ChainPort } from '../../chains/chain.ts'
import { OutsideFailure } from '../../core/errors.ts'
import type { Database, Queryable } from '../../db/database.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { broadcastSigned } from './broadcast-withdrawal.ts'

/** Three payouts, each signed by itself and due, and a node that never hears of what is sent first. */
async function tell() {
  const story = await tellPayouts('sim-bitcoin')
  const payouts: Withdrawal[] = []
  const ask = async (amount: string) => {
    payouts.push(await story.request('BTC', amount))
    await signAll(story.signer)
  }
  // A coin for each of them, and one more.
  for (let count = 0; count < 4; count++) await story.earn('BTC', 65_000n)
  for (let count = 0; count < 3; count++) await ask('0.005')
  let stuck: string | null = null
  const port: ChainPort = {
    ...story.port,
    async broadcast(raw) {
      stuck ??= raw
      if (raw === stuck) throw new OutsideFailure('413 Payload Too Large', { retryable: true })
      return await story.port.broadcast(raw)
    },
  }
  const statuses = async () =>
    (await Promise.all(payouts.map(async (payout) => (await story.now(payout)).status))).sort()
  return { ...story, ask, port, statuses }
}

test('a transaction that the node never hears of holds up none of the others', async () => {
  const { gateway, port, statuses, ask } = await tell()
  await assert.rejects(broadcastSigned(gateway, port), /Payload Too Large/)
  assert.deepEqual(await statuses(), ['requested', 'requested', 'requested'])
  assert.equal(await broadcastSigned(gateway, port), 2)
  assert.deepEqual(await statuses(), ['broadcast', 'broadcast', 'requested'])
  assert.equal(await broadcastSigned(gateway, port), 0, 'it is not due itself for half a minute')
  await ask('0.001')
  await gateway.db.query("update signed_transactions set send_at = send_at - interval '31 seconds'")
  await assert.rejects(broadcastSigned(gateway, port), /Payload Too Large/)
  await broadcastSigned(gateway, port)
  assert.deepEqual(await statuses(), ['broadcast', 'broadcast', 'broadcast', 'requested'])
})

test('when what was not tried can not be given back, the error that is thrown is why it was not tried', async () => {
  const { gateway, port } = await tell()
  const db: Database = {
    ...gateway.db,
    async query<Row>(...asked: Parameters<Queryable['query']>) {
      if (asked[0].includes('untried')) throw new OutsideFailure('the database is away', { retryable: true })
      return await gateway.db.query<Row>(...asked)
    },
  }
  const warned: unknown[] = []
  const log = { ...gateway.log, warn: (fields: object) => void warned.push(fields) }
  await assert.rejects(broadcastSigned({ ...gateway, db, log }, port), /Payload Too Large/)
  assert.match(JSON.stringify(warned.map((line) => String((line as { err: unknown }).err))), /is away/)
})

test('nonces behind one that the node never hears of wait with it, for a node may refuse a gap', async () => {
  const story = await tellPayouts('sim-ethereum')
  const { gateway, signer } = story
  await story.earn('ETH', 650_000n)
  // Until the hot wallet has it.
  for (let round = 0; round < 3; round++) await story.mineAndTurn(12)
  const payouts: Withdrawal[] = []
  for (let count = 0; count < 2; count++) {
    payouts.push(await story.request('ETH', '0.01'))
    await signAll(signer)
  }
  let calls = 0
  const port: ChainPort = {
    ...story.port,
    async broadcast(raw) {
      calls += 1
      if (calls === 1) throw new OutsideFailure('413 Payload Too Large', { retryable: true })
      return await story.port.broadcast(raw)
    },
  }
  await assert.rejects(broadcastSigned(gateway, port), /Payload Too Large/)
  await broadcastSigned(gateway, port)
  assert.equal(calls, 1, 'nothing else was tried')
  await gateway.db.query("update signed_transactions set send_at = send_at - interval '31 seconds'")
  await broadcastSigned(gateway, port)
  for (const payout of payouts) assert.equal((await story.now(payout)).status, 'broadcast')
})
