/** When a deposit was seen, and whether that was in time: what the row says that is written, whoever decides meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { until } from '../../test/wait-for.ts'
import type { Asset } from '../core/assets.ts'
import { SENT_BY_CONTRACT } from '../core/ether-outputs.ts'
import type { Payment } from '../payments/payment.ts'
import { lockPayment, updatePayment } from '../payments/payments.sql.ts'
import type { Deposit } from './deposit.ts'
import { listDeposits, markRenamedByBlock } from './deposits.sql.ts'
import { recordSightings, type Sighting } from './record-sightings.sql.ts'

async function tellSightings(asset: Asset) {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const payment = await testPayment(gateway, account, { asset })
  const { chain, expiresAt } = payment
  const seen = (of: Partial<Sighting> = {}): Sighting => ({
    accountId: account.id,
    paymentId: payment.id,
    asset,
    txKey: 'tx',
    txHash: null,
    outputIndex: 0,
    address: payment.address,
    amountAtoms: payment.dueAtoms,
    requiredConfirmations: 6,
    seenAt: new Date(expiresAt.getTime() - 1),
    sightedMinor: 77n,
    dust: false,
    mac: Buffer.alloc(32),
    block: { height: 7, hash: 'block 7' },
    ...of,
  })
  return {
    db,
    payment,
    seen,
    after: new Date(expiresAt.getTime() + 1),
    record: (...sightings: Sighting[]) => db.transaction((tx) => recordSightings(tx, chain, sightings)),
    deposits: () => listDeposits(db, account.id, payment.id),
    rename: (txKey: string) => db.transaction((tx) => markRenamedByBlock(tx, chain, payment.address, txKey)),
  }
}

const timing = (deposits: readonly Deposit[]) =>
  Object.fromEntries(deposits.map(({ txKey, late, sightedMinor }) => [txKey, [late, sightedMinor]]))

test('what is seen after the window is late and has its worth; so is all that is shown of a payment that is over', async () => {
  const { db, payment, seen, after, record, deposits } = await tellSightings('LTC')
  await record(seen({ txKey: 'in time' }), seen({ txKey: 'late', seenAt: after }))
  for (const status of ['expired', 'failed', 'cancelled']) {
    await db.query('update payments set status = $1 where id = $2', [status, payment.id])
    await record(seen({ txKey: status }))
  }
  assert.deepEqual(timing(await deposits()), {
    'in time': [false, null],
    late: [true, 77n],
    expired: [true, 77n],
    failed: [true, 77n],
    cancelled: [false, null],
  })
})

test('a payment that expires while a block is being written is over for what the block shows', async () => {
  const { db, payment, seen, record, deposits } = await tellSightings('LTC')
  let recorded: Promise<unknown> = Promise.resolve()
  await db.transaction(async (tx) => {
    // As a decision does: what waits for it has read its rows already.
    const locked = (await lockPayment(tx, payment.accountId, payment.id)) ?? assert.fail()
    recorded = record(seen())
    await until('the watcher waits', async () => {
      const { rows } = await db.query<{ waiting: bigint }>(
        `select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (rows[0]?.waiting ?? 0n) > 0n
    })
    const expired: Payment = { ...locked, status: 'expired' }
    await updatePayment(tx, expired, 'decided')
  })
  await recorded
  assert.deepEqual(timing(await deposits()), { tx: [true, 77n] })
})

test('ether of contracts that a reorganisation names anew was seen when it was seen first', async () => {
  const { db, payment, seen, after, record, deposits, rename } = await tellSightings('ETH')
  const outputIndex = SENT_BY_CONTRACT
  const lose = () =>
    db.query(`update deposits set status = 'reorganised', block_height = null, block_hash = null`)
  await record(seen({ txKey: 'internal:1', outputIndex }))
  await lose()
  await rename('internal:2')
  await record(seen({ txKey: 'internal:2', outputIndex, seenAt: after, block: { height: 7, hash: 'other' } }))
  const statuses = async () =>
    Object.fromEntries((await deposits()).map(({ txKey, status, late }) => [txKey, [status, late]]))
  assert.deepEqual(await statuses(), {
    'internal:1': ['replaced', false],
    'internal:2': ['seen', false],
  })
  assert.deepEqual(new Set((await deposits()).map(({ seenAt }) => seenAt.getTime())).size, 1)
  // What comes beside it stands for itself, and so does what comes back when the payment is over.
  await record(seen({ txKey: 'internal:3', outputIndex, seenAt: after }))
  assert.deepEqual((await statuses())['internal:3'], ['seen', true])
  await lose()
  await db.query(`update payments set status = 'failed' where id = $1`, [payment.id])
  await rename('internal:4')
  await record(seen({ txKey: 'internal:4', outputIndex, seenAt: after }))
  assert.deepEqual((await statuses())['internal:4'], ['seen', true])
})
