/** Withdrawals that wait, however many, hold up nobody; and what two signers sign comes under one limit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COIN, OURS, openScene, TOKENS } from '../../test/live-scene.ts'
import { tellPayouts } from '../../test/payout-story.ts'
import { signAll, testSigner } from '../../test/payouts.ts'
import { HOUR_MS } from '../core/time.ts'
import { nameOf, paidBy } from '../treasury/signed-entry.ts'
import { fillAddressPool } from '../wallets/address-pool.sql.ts'
import { readLimits } from '../withdrawals/limits.ts'
import { sumSigned } from './left.sql.ts'
import { allowAddress } from './policy.ts'
import { signerTurn } from './signer.ts'

/** More than one page of requests holds. */
const MANY = 210

test('withdrawals that wait for the allowlist hold up none behind them', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const scene = await openScene({ allowlistWaitMs: HOUR_MS })
  const fresh = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080'
  await allowAddress(scene.signer.config.folder, 'bitcoin', OURS)
  t.mock.timers.tick(HOUR_MS + 1)
  await allowAddress(scene.signer.config.folder, 'bitcoin', fresh)
  await scene.sql('update fee_rates set seen_at = now()')
  const waiting = []
  for (let count = 0; count < MANY; count++) waiting.push(await scene.request('0.01', fresh))
  const paid = [await scene.request('0.01'), await scene.request('0.02')]
  await signAll(scene.signer)
  const [entry, ...others] = await scene.signed()
  assert.deepEqual(others, [])
  assert.deepEqual(entry && paidBy(entry), paid.map(nameOf))
  await fillAddressPool(scene.gateway.db, scene.gateway.secrets, { fresh: 8, change: 20 })
  // When their time is over they are paid, the oldest first, and each once.
  t.mock.timers.tick(HOUR_MS + 1)
  await scene.sql('update fee_rates set seen_at = now()')
  await signAll(scene.signer)
  const named = (await scene.signed()).slice(1).flatMap(paidBy)
  const expected = waiting.map(nameOf)
  assert.deepEqual([named.length, named.join() === expected.join()], [MANY, true])
})

test('a look that is out of time goes on behind what it looked at, and ends at the first again', async () => {
  const scene = await openScene({ limits: readLimits('BTC=day:1;ETH=day:10') })
  const hurried = { ...scene.signer, scanMs: 0 }
  await scene.request('0.9')
  await signAll(scene.signer)
  const waiting = [await scene.request('0.5'), await scene.request('0.4'), await scene.request('0.3')]
  const paid = await scene.request('0.05')
  for (let turn = 0; turn < 3; turn++) assert.equal(await signerTurn(hurried), false)
  assert.equal((await scene.signed()).length, 1)
  await signerTurn(hurried)
  const [, entry, ...others] = await scene.signed()
  assert.deepEqual([entry && paidBy(entry), others], [[nameOf(paid)], []])
  // When the limit leaves room, the first of them is looked at again.
  await fillAddressPool(scene.gateway.db, scene.gateway.secrets, { fresh: 8, change: 20 })
  const roomy = { ...hurried, config: { ...hurried.config, limits: {} } }
  await signAll(roomy)
  for (let turn = 0; turn < 4; turn++) await signerTurn(roomy)
  const named = (await scene.signed()).flatMap(paidBy)
  for (const each of waiting) assert.ok(named.includes(nameOf(each)))
  // One that is to end scans nothing.
  await scene.request('0.01')
  const before = (await scene.signed()).length
  await signerTurn({ ...scene.signer, stopping: AbortSignal.abort() })
  assert.equal((await scene.signed()).length, before)
})

test('withdrawals that the coins do not cover hold up none behind them', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 650_000n)
  await story.gateway.db.query('update utxos set is_coinbase = true')
  await story.earn('BTC', 6_500n)
  for (let count = 0; count < 60; count++) await story.request('BTC', '0.0015')
  const { txHash } = await story.send('BTC', '0.0005')
  assert.ok(txHash)
  const { rowCount } = await story.gateway.db.query(`select from withdrawals where status = 'requested'`)
  assert.equal(rowCount, 60)
})

test('two signers with journals of their own share the limits as far as the rows of the other go', async () => {
  const limits = readLimits('BTC=hour:1;ETH=hour:1')
  const scene = await openScene({ limits })
  const other = await testSigner(scene.gateway, ['bitcoin', 'ethereum'], {
    config: { limits, tokens: TOKENS },
  })
  await scene.request('0.6')
  await signAll(scene.signer)
  const second = await scene.request('0.6')
  await signAll(other)
  assert.deepEqual(await other.journal.payingFor(nameOf(second)), [])
  const third = await scene.request('0.3')
  await signAll(other)
  assert.equal((await other.journal.payingFor(nameOf(third))).length, 1)
  // Rows that are gone, or were never true, change nothing of what the own journal counts.
  await scene.sql('delete from signed_payouts')
  await scene.sql('update utxos set reserved_by = null')
  await scene.sql('delete from signed_transactions')
  await scene.request('0.5')
  await signAll(scene.signer)
  assert.ok(scene.signer.journal.leftSince('BTC', true, 0) <= COIN)
})

test('rows count as a journal counts: what is paid, and of a bump the fee that it adds', async () => {
  const scene = await openScene({ limits: readLimits('BTC=day:10') })
  const { journal } = scene.signer
  await scene.request('0.6')
  await signAll(scene.signer)
  await scene.sql('update signed_transactions set sent_at = now(), bump_wanted = true')
  await signAll(scene.signer)
  const entries = await scene.signed()
  assert.equal(entries.length, 2)
  const left = journal.leftSince('BTC', true, 0)
  assert.deepEqual(await sumSigned(scene.gateway.db, 'BTC'), { hour: left, day: left })
  assert.deepEqual(await sumSigned(scene.gateway.db, 'ETH'), { hour: 0n, day: 0n })
})

test('one that waits for lower fees uses up nothing of a limit for those behind it', async () => {
  const scene = await openScene({ limits: readLimits('BTC=day:0.03') })
  await scene.sql(`update fee_rates set rate = 1000 where chain = 'bitcoin'`)
  const waiting = await scene.request('0.02')
  await scene.sql(`update fee_rates set rate = 100000 where chain = 'bitcoin'`)
  const paid = await scene.request('0.02')
  await signAll(scene.signer)
  assert.deepEqual((await scene.signed()).map(paidBy), [[nameOf(paid)]])
  assert.equal((await scene.now(waiting)).waitingFor, 'network_fee')
})

test('the limit per withdrawal is none for the fee of all that one transaction pays, nor for its bump', async () => {
  const scene = await openScene({ limits: readLimits('BTC=tx:0.01') })
  await scene.sql(`update fee_rates set rate = 200000 where chain = 'bitcoin'`)
  const paid = []
  for (let count = 0; count < MANY; count++) paid.push(await scene.request('0.0099'))
  await signAll(scene.signer)
  const [entry, ...others] = await scene.signed()
  assert.ok(entry && BigInt(entry.feeAtoms) > COIN / 100n)
  assert.deepEqual([paidBy(entry), others], [paid.map(nameOf), []])
  await fillAddressPool(scene.gateway.db, scene.gateway.secrets, { fresh: 8, change: 20 })
  await scene.sql(`update fee_rates set rate = 600000 where chain = 'bitcoin'`)
  await scene.sql('update signed_transactions set sent_at = now(), bump_wanted = true')
  await signAll(scene.signer)
  const bump = (await scene.signed()).at(1)
  assert.ok(bump && BigInt(bump.feeAtoms) > BigInt(entry.feeAtoms) + COIN / 100n)
})
