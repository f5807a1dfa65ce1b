import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPayment } from '../../test/gateway.ts'
import { settleSideBySide, tellStory } from '../../test/story.ts'
import { showId } from '../core/ids.ts'
import { refundPayment } from '../flows/withdrawals/refund-payment.ts'
import { storeFeeRates } from '../treasury/fee-rates.sql.ts'
import { type SetAside, settleNext } from './settle.ts'

const COIN = 100_000_000n

test('a payment that can not be decided about holds up no other, and the operator hears of it', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const stuck = await testPayment(gateway, account)
  await story.payAndConfirm(stuck, COIN / 2n)
  // Somebody took away what was held for it.
  await gateway.db.query("update balances set atoms = 0 where kind = 'unresolved'")
  await story.pay(stuck, COIN / 2n)
  const well = await testPayment(gateway, account)
  await story.pay(well, COIN)
  await story.mine(6)
  await assert.rejects(story.look(), /violates check constraint/)

  const aside: SetAside = new Map()
  while (await settleNext(gateway, aside));
  assert.equal((await story.read(well)).status, 'completed')
  assert.equal((await story.read(stuck)).status, 'underpaid')
  assert.deepEqual([...aside.keys()], [stuck.id])
  const { rows } = await gateway.db.query<{ subject: string }>(
    "select subject from alerts where kind = 'payment_stuck'",
  )
  assert.deepEqual(rows, [{ subject: showId('pay', stuck.id) }])

  await gateway.db.query("update balances set atoms = $1 where kind = 'unresolved'", [COIN / 2n])
  while (await settleNext(gateway, new Map()));
  assert.equal((await story.read(stuck)).status, 'completed')
  await story.proveBooks()
})

test('a refunded part pays for nothing any more: a top-up after it is held for support', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const payment = await testPayment(gateway, account)
  await story.payAndConfirm(payment, COIN / 2n)
  await storeFeeRates(gateway.db, 'sim-litecoin', { rate: 10_000n, priorityRate: 0n })
  const destination = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'
  await gateway.db.transaction((tx) =>
    refundPayment(gateway, tx, account, payment.id, { destination, amount: null, askedBy: 'unknown' }),
  )
  await story.payAndConfirm(payment, COIN / 2n)
  assert.equal((await story.read(payment)).status, 'underpaid')
  assert.equal(await story.balance('unresolved'), COIN / 2n)
  await story.payAndConfirm(payment, COIN / 2n)
  assert.equal((await story.read(payment)).status, 'completed')
  await story.proveBooks()
})

test('payments of one block that settle side by side are each credited once, by one worker or by two', async () => {
  const story = await tellStory({ freshPerChain: 16 })
  await settleSideBySide(story, 12)
  assert.equal(await story.balance('available'), (12n * COIN * 99n) / 100n)
  assert.equal((await story.events()).filter((type) => type === 'payment.completed').length, 12)
  await story.proveBooks()
})
