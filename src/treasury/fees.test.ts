import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ASSETS } from '../core/assets.ts'
import { FORKS } from '../core/forks.ts'
import { ratio } from '../core/ratio.ts'
import { readAmount } from '../withdrawals/amount.ts'
import { costOf, gasFeeAtoms, payoutFeeAtoms, RATE_BOUNDS } from './fees.ts'
import { scheduleOf } from './gas.ts'

test('the four parts of a withdrawal always sum up, and the payout fee never rounds down', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ASSETS),
      fc.bigInt(1n, 10n ** 24n),
      fc.bigInt(0n, 10_000n),
      fc.bigInt(0n, 10n ** 20n),
      (asset, amount, bps, networkFee) => {
        try {
          const cost = costOf(asset, amount, bps, networkFee)
          assert.equal(cost.feeAtoms + cost.networkFeeAtoms + cost.netAtoms, amount)
          assert.ok(cost.netAtoms > 0n)
          assert.ok(cost.feeAtoms * 10_000n >= amount * bps && (cost.feeAtoms - 1n) * 10_000n < amount * bps)
        } catch (error) {
          assert.ok(error instanceof Error && 'kind' in error && error.kind === 'unprocessable')
        }
      },
    ),
  )
})

test('a payout fee is never above the payout, and never below nothing', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 30n), fc.bigInt(0n, 10_000n), (amount, bps) => {
      const fee = payoutFeeAtoms(amount, bps)
      assert.ok(fee * 10_000n >= amount * bps && (fee - 1n) * 10_000n < amount * bps)
      assert.ok(fee <= amount)
    }),
  )
  for (const bps of [-1n, 10_001n]) assert.throws(() => payoutFeeAtoms(100n, bps), RangeError)
})

test('the network fee of Ethereum: gas, priced in the token for tokens', () => {
  const rates = { rate: 20_000_000_000n, priorityRate: 1_000_000_000n }
  assert.equal(gasFeeAtoms('ETH', rates, null), 26_000_000_000n * 21_000n)
  // 65,000 gas at 26 gwei are 0.00169 ether; at 2,500 dollars and one dollar a token that is 4.225.
  const prices = { ether: ratio(250_000n, 1n), token: ratio(100n, 1n) }
  assert.equal(gasFeeAtoms('USDC', rates, prices), 4_225_000n)
  assert.throws(() => gasFeeAtoms('USDT', rates, null), RangeError)
})

test('no quote counts on dearer gas than any transaction of ours offers, whatever a node or the database says', () => {
  const rate = fc.bigInt(0n, 10n ** 30n)
  fc.assert(
    fc.property(rate, rate, fc.constantFrom(...FORKS), (rate, priorityRate, fork) => {
      const { quoted } = scheduleOf({ fork })
      const fee = gasFeeAtoms('ETH', { rate, priorityRate, fork }, null)
      assert.ok(fee <= quoted.ETH * RATE_BOUNDS.ethereum.ceiling)
    }),
  )
})

test('what does not cover its fees, or leaves dust, is refused', () => {
  assert.throws(() => costOf('BTC', 2_000n, 10n, 2_000n), { reason: 'fee_exceeds_amount' })
  assert.throws(() => costOf('BTC', 2_547n, 10n, 2_000n), { reason: 'below_minimum' })
  assert.equal(costOf('BTC', 2_549n, 10n, 2_000n).netAtoms, 546n)
})

test('amounts are read exactly', () => {
  assert.equal(readAmount('BTC', '0.00000001'), 1n)
  assert.equal(readAmount('ETH', '1'), 10n ** 18n)
  for (const text of ['0', '0.0', '-1', '1e3', '', ' 1', '0.000000001', '1,5', '01', 'NaN', '9'.repeat(79)])
    assert.throws(() => readAmount('BTC', text), { reason: 'invalid_amount' }, text)
})
