import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { ASSETS } from '../core/assets.ts'
import { cancelPayment } from '../flows/payments/cancel-payment.ts'
import { endWindow } from './end-window.sql.ts'
import { listPayments } from './list-payments.sql.ts'
import { PAYMENT_STATUSES } from './payment.ts'

const gateway = await testGateway({ freshPerChain: 300, connectionsMax: 20 })
const { db } = gateway

/** What the counters say beside what a count says, in one snapshot; equal is empty. */
async function differences(): Promise<object[]> {
  const { rows } = await db.query<object>(
    `select * from (
       select account_id, asset, status, sum(payments) as payments from payment_counts
       group by account_id, asset, status having sum(payments) <> 0) counters
     full join (
       select account_id, asset, status, count(*)::numeric as payments from payments
       group by account_id, asset, status) counted using (account_id, asset, status, payments)
     where counters is null or counted is null`,
  )
  return rows
}

test('the counters are exact after any mix of payments created, changed and rolled back at once', async () => {
  const account = await testAccount(gateway)
  const asset = fc.constantFrom(...ASSETS)
  const act = fc.record({
    asset,
    act: fc.constantFrom('keep', 'cancel', 'roll back', 'cancel and roll back'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 30 }), async (acts) => {
      const undone = new Error('rolled back')
      await Promise.all(
        acts.map(async (each) => {
          const payment = await testPayment(gateway, account, { asset: each.asset })
          if (each.act === 'keep') return
          await db
            .transaction(async (tx) => {
              if (each.act.startsWith('cancel')) await cancelPayment(tx, account.id, payment.id)
              else await endWindow(tx, account.id, payment.id)
              if (each.act.endsWith('roll back')) throw undone
            })
            .catch((error: unknown) => assert.equal(error, undone))
        }),
      )
      assert.deepEqual(await differences(), [])
    }),
    { numRuns: 6 },
  )
})

test('while payments come in, no snapshot shows a count that is not that of its rows', async () => {
  const account = await testAccount(gateway)
  let running = true
  const creating = Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let made = 0; made < 10; made++) {
        const { id } = await testPayment(gateway, account)
        await db.transaction((tx) => cancelPayment(tx, account.id, id))
      }
    }),
  ).finally(() => {
    running = false
  })
  while (running) assert.deepEqual(await differences(), [])
  await creating
  const page = await listPayments(db, account.id, { limit: 1 })
  assert.equal(page.total, 80)
})

test('totals by status and coin are those that counting gives, for every status and coin', async () => {
  const account = await testAccount(gateway)
  for (const asset of ASSETS) {
    const { id } = await testPayment(gateway, account, { asset })
    await testPayment(gateway, account, { asset })
    await db.transaction((tx) => cancelPayment(tx, account.id, id))
  }
  // Another merchant's count for nothing.
  await testPayment(gateway, await testAccount(gateway))
  const words = (all: readonly string[]) => [...all, all.join(','), all.slice(1, 3).join(',')]
  for (const status of words(PAYMENT_STATUSES))
    for (const asset of words(ASSETS))
      for (const operator of ['is', 'is_not'] as const) {
        const query = { filter_status: status, filter_asset: asset, filter_asset_op: operator, limit: 1 }
        // A date makes the list count; page 2 makes it tell the total even when that is small.
        const counted = await listPayments(db, account.id, { ...query, page: 2, start_date: '2020-01-01' })
        assert.equal((await listPayments(db, account.id, { ...query, page: 2 })).total, counted.total)
      }
})
