import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellPayouts } from '../../../test/payout-story.ts'
import { signAll } from '../../../test/payouts.ts'
import { storeFeeRates } from '../../treasury/fee-rates.sql.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { withdrawalResource } from '../../withdrawals/withdrawal-resource.ts'
import { cancelWithdrawal } from './cancel-withdrawal.ts'

async function tell() {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const cancel = ({ id }: Withdrawal) =>
    story.gateway.db.transaction((tx) => cancelWithdrawal(tx, story.account, id))
  return { ...story, cancel }
}

test('a withdrawal that waits for lower fees says so, is cancelled, and gives back all of its amount', async () => {
  const story = await tell()
  const withdrawal = await story.request('BTC', '0.0001')
  const before = await story.balance('available')
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 900_000n, priorityRate: 0n })
  await signAll(story.signer)
  assert.equal(withdrawalResource(await story.now(withdrawal)).waiting_for, 'network_fee')
  assert.equal(withdrawalResource(await story.cancel(withdrawal)).waiting_for, 'cancellation')
  await story.turn()
  const view = withdrawalResource(await story.now(withdrawal))
  assert.deepEqual([view.status, view.failure_reason, view.waiting_for], ['failed', 'cancelled', null])
  assert.equal(await story.balance('available'), before + withdrawal.amountAtoms)
  assert.deepEqual((await story.events()).slice(-1), ['payout.failed'])
  await assert.rejects(story.cancel(withdrawal), { reason: 'withdrawal_finished' })
  await story.proveBooks()
})

test('what is signed is not cancelled, and what is cancelled is not signed, whichever comes first', async () => {
  const story = await tell()
  const signed = await story.request('BTC', '0.001')
  await signAll(story.signer)
  await assert.rejects(story.cancel(signed), { reason: 'already_signed' })

  for (let round = 0; round < 4; round++) {
    await story.mineAndTurn(2)
    const withdrawal = await story.request('BTC', '0.0005')
    const [cancelled] = await Promise.allSettled([story.cancel(withdrawal), signAll(story.signer)])
    await story.turn()
    await story.mineAndTurn(2)
    const { status } = await story.now(withdrawal)
    assert.equal(status, cancelled.status === 'fulfilled' ? 'failed' : 'completed')
  }
  await story.proveBooks()
})

test('cancelling may not go on as often as one likes; doing it again counts once', async () => {
  const story = await tell()
  for (let count = 0; count < 20; count++) {
    const withdrawal = await story.request('BTC', '0.0001')
    await story.cancel(withdrawal)
    await story.cancel(withdrawal)
  }
  const next = await story.request('BTC', '0.0001')
  await assert.rejects(story.cancel(next), { reason: 'too_many_cancellations' })
})

test('a cancelled withdrawal that the journal knows as paid is put back, and never gives its hold back', async () => {
  const story = await tell()
  const { withdrawal } = await story.send('BTC', '0.001')
  await story.forgetSigned()
  await story.cancel(withdrawal)
  await story.turn()
  await story.mineAndTurn(2)
  await story.mineAndTurn(2)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  assert.equal(await story.balance('held'), 0n)
})
