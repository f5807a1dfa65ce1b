import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  divideDown,
  divideHalfUp,
  divideTowardsZero,
  divideUp,
  fiatFromNumber,
  fiatToNumber,
  formatDecimal,
  larger,
  notBelowZero,
  parseDecimal,
  pow10,
  smaller,
} from './money.ts'

const decimals = fc.integer({ min: 0, max: 18 })
const amount = fc.bigInt({ min: 0n, max: 10n ** 60n })
const divisor = fc.bigInt({ min: 1n, max: 10n ** 40n })

const DECIMALS = [
  // [text, digits of the unit, amount or null]
  ['0', 8, 0n],
  ['0.015', 8, 1_500_000n],
  ['1', 0, 1n],
  ['1', 18, 10n ** 18n],
  ['21000000.00000001', 8, 2_100_000_000_000_001n],
  ['0.10', 2, 10n],
  ['0.100', 2, null],
  ['0.00000001', 6, null],
  ['', 8, null],
  ['.5', 8, null],
  ['1.', 8, null],
  ['1.0', 0, null],
  ['01', 8, null],
  ['+1', 8, null],
  ['-1', 8, null],
  ['1e3', 8, null],
  [' 1', 8, null],
  ['1\n', 8, null],
  ['1,5', 8, null],
  ['1_000', 8, null],
  ['0x10', 8, null],
  ['٣', 8, null],
  ['NaN', 8, null],
  ['9'.repeat(81), 8, null],
] as const

for (const [text, digits, expected] of DECIMALS) {
  test(`${JSON.stringify(text.slice(0, 30))} with ${digits} digits is ${expected ?? 'no amount'}`, () => {
    assert.equal(parseDecimal(text, digits), expected)
  })
}

test('every amount is read back from how it is written', () => {
  fc.assert(
    fc.property(amount, decimals, (given, digits) => {
      assert.equal(parseDecimal(formatDecimal(given, digits), digits), given)
    }),
  )
})

test('a decimal is written without zeros at its end, and with its sign', () => {
  assert.equal(formatDecimal(1_500_000n, 8), '0.015')
  assert.equal(formatDecimal(100_000_000n, 8), '1')
  assert.equal(formatDecimal(0n, 8), '0')
  assert.equal(formatDecimal(7n, 0), '7')
  assert.equal(formatDecimal(-5n, 2), '-0.05')
  fc.assert(
    fc.property(amount, decimals, (given, digits) =>
      assert.match(formatDecimal(given, digits), /^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/),
    ),
  )
})

test('every amount of cents is the JSON number that shows it', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (minor) => {
      assert.equal(fiatFromNumber(fiatToNumber(minor)), minor)
      assert.equal(fiatFromNumber(JSON.parse(formatDecimal(minor, 2))), minor)
    }),
  )
})

for (const number of [-0.01, 1.001, 0.1 + 0.2, 1e-7, 1e15, Number.NaN, Number.POSITIVE_INFINITY]) {
  test(`${number} is no amount of cents`, () => assert.equal(fiatFromNumber(number), null))
}

test('each division rounds as its name says, by less than one', () => {
  fc.assert(
    fc.property(amount, divisor, (dividend, by) => {
      const [down, up, near] = [divideDown(dividend, by), divideUp(dividend, by), divideHalfUp(dividend, by)]
      assert.ok(down * by <= dividend && (down + 1n) * by > dividend)
      assert.ok(up * by >= dividend && (up - 1n) * by < dividend)
      const twice = 2n * (near * by - dividend)
      assert.ok(-by < twice && twice <= by)
    }),
  )
})

test('of what is below zero the remainder goes towards zero, when a change is shown', () => {
  const shown = [
    [7n, 2n, 3n],
    [-7n, 2n, -3n],
    [7n, -2n, -3n],
  ] as const
  for (const [dividend, by, quotient] of shown) assert.equal(divideTowardsZero(dividend, by), quotient)
})

test('the smaller and the larger of two amounts, and nothing below zero', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.bigInt(), (a, b) => {
      assert.deepEqual([smaller(a, b), larger(a, b)], a < b ? [a, b] : [b, a])
      assert.equal(notBelowZero(a), a < 0n ? 0n : a)
    }),
  )
})

test('a half goes upwards', () => {
  assert.deepEqual(
    [divideHalfUp(5n, 2n), divideHalfUp(4_999n, 10_000n), divideHalfUp(5_000n, 10_000n)],
    [3n, 0n, 1n],
  )
})

for (const divide of [divideDown, divideUp, divideHalfUp]) {
  test(`${divide.name} refuses a negative dividend and a divisor that is not positive`, () => {
    for (const [dividend, by] of [
      [-1n, 1n],
      [1n, 0n],
      [1n, -1n],
    ] as const)
      assert.throws(() => divide(dividend, by), RangeError)
  })
}

test('a power of ten has as many zeros as it is asked for', () => {
  fc.assert(fc.property(decimals, (digits) => assert.equal(String(pow10(digits)), `1${'0'.repeat(digits)}`)))
})
