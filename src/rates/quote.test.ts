import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { ASSET_FACTS, ASSETS } from '../core/assets.ts'
import { formatAmount, formatDecimal, parseDecimal, pow10 } from '../core/money.ts'
import { ratio } from '../core/ratio.ts'
import {
  convertFiat,
  crossRate,
  dueAtoms,
  feeMinor,
  fiatValue,
  splitCredit,
  toleratedAtoms,
} from './quote.ts'

const asset = fc.constantFrom(...ASSETS)
const fiatMinor = fc.bigInt({ min: 1n, max: 100_000_000_00n })
const bps = fc.bigInt({ min: 0n, max: 10_000n })
const atoms = fc.bigInt({ min: 0n, max: 10n ** 30n })
const rate = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 24n }), fc.bigInt({ min: 1n, max: 10n ** 12n }))
  .map(([numerator, denominator]) => ratio(numerator, denominator))

const DUE = [
  // [asset, fiat minor, rate per whole coin in minor units, due atoms, as the buyer types it]
  ['BTC', 65_000_00n, ratio(65_000_00n, 1n), 100_000_000n, '1'],
  ['BTC', 1_00n, ratio(65_000_00n, 1n), 1_539n, '0.00001539'],
  ['LTC', 25_00n, ratio(80_00n, 1n), 31_250_000n, '0.3125'],
  ['ETH', 10_00n, ratio(3_000_00n, 1n), 3_333_340_000_000_000n, '0.00333334'],
  ['ETH', 3_000_00n, ratio(3_000_00n, 1n), 1_000_000_000_000_000_000n, '1'],
  ['USDC', 25_00n, ratio(100n, 1n), 25_000_000n, '25'],
  ['USDT', 25_00n, ratio(999n, 10n), 25_025_026n, '25.025026'],
] as const

for (const [coin, price, at, due, typed] of DUE) {
  test(`${price} minor units at ${at.numerator}/${at.denominator} are ${typed} ${coin}`, () => {
    assert.equal(dueAtoms(price, at, coin), due)
    assert.equal(formatAmount(due, coin), typed)
  })
}

test('what is due covers the price, by less than one payable unit more', () => {
  fc.assert(
    fc.property(asset, fiatMinor, rate, (coin, price, at) => {
      const { decimals, payableDecimals } = ASSET_FACTS[coin]
      const due = dueAtoms(price, at, coin)
      const worth = (amount: bigint) => amount * at.numerator
      const asked = price * at.denominator * pow10(decimals)
      assert.ok(worth(due) >= asked)
      assert.ok(worth(due - pow10(decimals - payableDecimals)) < asked)
    }),
  )
})

test('the decimal that is due and the atoms that are due are the same amount, in payable digits', () => {
  fc.assert(
    fc.property(asset, fiatMinor, rate, (coin, price, at) => {
      const { decimals, payableDecimals } = ASSET_FACTS[coin]
      const due = dueAtoms(price, at, coin)
      const typed = formatDecimal(due, decimals)
      assert.ok((typed.split('.')[1] ?? '').length <= payableDecimals)
      assert.equal(parseDecimal(typed, decimals), due)
    }),
  )
})

test('fee and net make up the price, and a half cent goes to the fee', () => {
  assert.equal(feeMinor(50n, 100n), 1n)
  assert.equal(feeMinor(49n, 100n), 0n)
  assert.equal(feeMinor(25_00n, 100n), 25n)
  fc.assert(
    fc.property(fiatMinor, bps, (price, part) => {
      const fee = feeMinor(price, part)
      const twice = 2n * (fee * 10_000n - price * part)
      assert.ok(fee <= price && twice <= 10_000n && twice > -10_000n)
    }),
  )
})

test('a credit never creates an atom: the net rounds down and the fee is exactly the rest', () => {
  fc.assert(
    fc.property(atoms, fiatMinor, bps, (settled, price, part) => {
      const net = price - feeMinor(price, part)
      const { netAtoms, feeAtoms } = splitCredit(settled, price, net)
      assert.equal(netAtoms + feeAtoms, settled)
      assert.ok(netAtoms >= 0n && feeAtoms >= 0n)
      assert.ok(netAtoms * price <= settled * net)
      assert.ok((netAtoms + 1n) * price > settled * net)
    }),
  )
  assert.throws(() => splitCredit(10n, 100n, 101n), RangeError)
})

test('an estimate never shows more than the coins are worth, nor a cent less', () => {
  fc.assert(
    fc.property(atoms, asset, rate, (amount, coin, at) => {
      const value = fiatValue(amount, coin, at)
      const whole = at.denominator * pow10(ASSET_FACTS[coin].decimals)
      assert.ok(value * whole <= amount * at.numerator && (value + 1n) * whole > amount * at.numerator)
    }),
  )
})

test('what is due is never worth less than the price it was quoted for', () => {
  fc.assert(
    fc.property(asset, fiatMinor, rate, (coin, price, at) => {
      assert.ok(fiatValue(dueAtoms(price, at, coin), coin, at) >= price)
    }),
  )
})

test('a cross rate converts there and back exactly, and one to one within a currency', () => {
  fc.assert(
    fc.property(rate, rate, fiatMinor, (from, to, minor) => {
      const there = crossRate(from, to)
      const back = crossRate(to, from)
      assert.equal(there.numerator * back.numerator, there.denominator * back.denominator)
      assert.equal(convertFiat(minor, crossRate(from, from)), minor)
    }),
  )
  assert.equal(convertFiat(100_00n, crossRate(ratio(60_000_00n, 1n), ratio(65_000_00n, 1n))), 108_33n)
})

test('a price of nothing and a fee beyond everything are refused', () => {
  assert.throws(() => dueAtoms(0n, ratio(1n, 1n), 'BTC'), RangeError)
  assert.throws(() => feeMinor(100n, 10_001n), RangeError)
})

test('what may be missing is the tolerance rounded down, at least what nobody can send, and never everything', () => {
  assert.equal(toleratedAtoms(100_000_000n, 'LTC', 0), 2_939n)
  assert.equal(toleratedAtoms(100_000_000n, 'LTC', 50), 500_000n)
  assert.equal(toleratedAtoms(25_025_026n, 'USDT', 0), 9_999n)
  assert.equal(toleratedAtoms(333_333_333n, 'BTC', 1), 33_333n)
  assert.equal(toleratedAtoms(100n, 'BTC', 0), 99n)
})
