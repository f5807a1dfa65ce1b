import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORKS } from '../core/forks.ts'
import { gasFeeAtoms, payoutGasLimit } from './fees.ts'
import { batchGasMost, scheduleOf, TRANSACTION_GAS_MOST, tokenSweepsGasMost } from './gas.ts'

test('where nobody knows the fork, gas is what the oldest one takes', () => {
  assert.equal(scheduleOf({}), scheduleOf({ fork: FORKS[0] }))
})

for (const fork of FORKS)
  test(`under ${fork} a payout may use what it is quoted with, and the largest batch fits into a transaction`, () => {
    const gas = scheduleOf({ fork })
    const rates = { rate: 8n, priorityRate: 0n, fork }
    assert.equal(gasFeeAtoms('ETH', rates, null), 10n * gas.quoted.ETH)
    for (const [asset, quoted] of [
      ['ETH', gas.quoted.ETH],
      ['USDT', gas.quoted.token],
    ] as const)
      for (const amountAtoms of [1n, 10n ** 24n])
        assert.ok(
          payoutGasLimit({ asset, amountAtoms }, { maxFeeWei: 10n, priorityFeeWei: 0n }, gas) >= quoted,
        )
    const sweeps = Array.from({ length: gas.batchSweepsMost }, () => ({ authorizes: true, failures: 0n }))
    assert.ok(batchGasMost(gas, sweeps) <= TRANSACTION_GAS_MOST)
  })

for (const fork of FORKS)
  test(`under ${fork} what is kept for sweeps of tokens covers them alone and in batches`, () => {
    const gas = scheduleOf({ fork })
    const batchOf = (count: number) =>
      batchGasMost(
        gas,
        Array.from({ length: count }, () => ({ authorizes: true, failures: 0n })),
      )
    const alone = gas.transfer + gas.newAccount + gas.tokenSweepMost
    assert.equal(tokenSweepsGasMost(gas, 0n), 0n)
    assert.ok(tokenSweepsGasMost(gas, 1n) >= batchOf(1))
    for (const count of [1, 2, gas.batchSweepsMost, gas.batchSweepsMost + 1, 3 * gas.batchSweepsMost]) {
      const kept = tokenSweepsGasMost(gas, BigInt(count))
      const full = Math.floor(count / gas.batchSweepsMost)
      const left = count % gas.batchSweepsMost
      assert.ok(kept >= BigInt(count) * alone)
      assert.ok(kept >= BigInt(full) * batchOf(gas.batchSweepsMost) + (left > 0 ? batchOf(left) : 0n))
    }
  })

test('after each failure a sweep may use twice as much gas, within bounds', () => {
  const gas = scheduleOf({})
  const most = [0n, 1n, 2n, 3n, 1_000n].map((failures) =>
    batchGasMost(gas, [{ authorizes: false, failures }]),
  )
  const { base, sweep } = gas.batch
  assert.deepEqual(
    most,
    [1n, 2n, 4n, 4n, 4n].map((times) => base + times * sweep),
  )
})
