import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellPayouts } from '../../../test/payout-story.ts'
import { signAll } from '../../../test/payouts.ts'
import { listAlerts } from '../../alerts/alerts.sql.ts'
import type { Database } from '../../db/database.ts'
import { freeze, thaw } from '../../ledger/freezes.sql.ts'
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

test('a cancel that meets the signer at its work comes too late, and uses up nothing of what may leave', async () => {
  const story = await tell()
  const { journal } = story.signer
  const withdrawal = await story.request('BTC', '0.0005')
  const met = {
    ...journal,
    async signed(entry: Parameters<typeof journal.signed>[0]) {
      await journal.signed(entry)
      await assert.rejects(story.cancel(withdrawal), { reason: 'already_signed' })
    },
  }
  await signAll({ ...story.signer, journal: met })
  const left = journal.leftSince('BTC', false, 0)
  assert.ok(left > 0n && left < 2n * withdrawal.amountAtoms, 'it left once')
  assert.equal((await story.now(withdrawal)).status, 'requested')
  await story.turn()
  await story.mineAndTurn(2)
  assert.equal((await story.now(withdrawal)).status, 'completed')
})

test('one that was cancelled before anything was written down is not signed for, and nothing is counted', async () => {
  const story = await tell()
  const withdrawal = await story.request('BTC', '0.0005')
  const { journal, db } = story.signer
  let isChosen = false
  let cancelled = false
  // After it was chosen to be paid, and before it is marked.
  const met = {
    ...journal,
    payingFor(name: string) {
      isChosen = true
      return journal.payingFor(name)
    },
  }
  const meeting: Database = {
    ...db,
    async transaction(work, options) {
      if (isChosen && !cancelled) {
        cancelled = true
        await story.cancel(withdrawal)
      }
      return db.transaction(work, options)
    },
  }
  await signAll({ ...story.signer, journal: met, db: meeting })
  assert.ok(cancelled)
  assert.equal(journal.leftSince('BTC', false, 0), 0n)
  await story.turn()
  assert.equal((await story.now(withdrawal)).status, 'failed')
  await story.proveBooks()
})

test('a signer that died before it wrote anything down keeps nobody from cancelling once it is back', async () => {
  const story = await tell()
  const { journal } = story.signer
  const withdrawal = await story.request('BTC', '0.0005')
  const dying = { ...journal, signed: () => Promise.reject(new Error('killed')) }
  await assert.rejects(
    signAll({ ...story.signer, journal: dying }).then(() => story.cancel(withdrawal)),
    {
      reason: 'already_signed',
    },
  )
  // The same journal, opened by the next process, with nothing to be paid meanwhile.
  const next = { ...story.signer, journal: { ...journal } }
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 900_000n, priorityRate: 0n })
  await signAll(next)
  await story.cancel(withdrawal)
  // While one lives, what it marks is believed for a minute.
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 10_000n, priorityRate: 0n })
  const other = await story.request('BTC', '0.0005')
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 900_000n, priorityRate: 0n })
  await story.gateway.db.query(
    "update withdrawals set signing_since = clock_timestamp() - interval '50 seconds' where id = $1",
    [other.id],
  )
  await signAll(next)
  await assert.rejects(story.cancel(other), { reason: 'already_signed' })
  await story.gateway.db.query(
    "update withdrawals set signing_since = clock_timestamp() - interval '70 seconds' where id = $1",
    [other.id],
  )
  await signAll(next)
  await story.cancel(other)
  await story.turn()
  assert.equal((await story.now(other)).status, 'failed')
  await story.proveBooks()
})

test('while its coin is frozen nothing is called back: a journal of then may not know what was paid', async () => {
  const story = await tell()
  const withdrawal = await story.request('BTC', '0.001')
  await story.cancel(withdrawal)
  await freeze(story.gateway.db, 'sim-bitcoin', 'BTC', 'restored')
  await story.turn()
  const waiting = await story.now(withdrawal)
  assert.deepEqual([waiting.status, waiting.refusedReason], ['requested', null])
  assert.equal(await story.balance('held'), withdrawal.amountAtoms)
  await thaw(story.gateway.db, 'sim-bitcoin', 'BTC')
  await story.turn()
  assert.equal((await story.now(withdrawal)).status, 'failed')
  assert.equal(await story.balance('held'), 0n)
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

test('of two that are to be given back the books cover one: it is, and who runs Beck looks at the other', async () => {
  const story = await tell()
  const withdrawals = [await story.request('BTC', '0.0001'), await story.request('BTC', '0.0001')]
  for (const withdrawal of withdrawals) await story.cancel(withdrawal)
  await story.gateway.db.query(`update balances set atoms = atoms / 2 where kind = 'held'`)
  await story.turn()
  await story.turn()
  const after = await Promise.all(withdrawals.map(story.now))
  assert.deepEqual(after.map(({ status }) => status).sort(), ['failed', 'requested'])
  const alerts = await listAlerts(story.gateway.db, { all: false, limit: 10 })
  assert.equal(alerts.filter(({ kind }) => kind === 'payout_unsettled').length, 1)
})
