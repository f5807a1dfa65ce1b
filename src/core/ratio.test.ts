import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { compareRatios, ratio } from './ratio.ts'

const side = fc.bigInt({ min: 1n, max: 10n ** 40n })

test('a ratio is kept in lowest terms, and is the same however it was given', () => {
  assert.deepEqual(ratio(650n, 100n), { numerator: 13n, denominator: 2n })
  fc.assert(
    fc.property(side, side, side, (numerator, denominator, factor) => {
      const lowest = ratio(numerator, denominator)
      assert.deepEqual(ratio(numerator * factor, denominator * factor), lowest)
      assert.equal(lowest.numerator * denominator, numerator * lowest.denominator)
      assert.deepEqual(ratio(lowest.numerator, lowest.denominator), lowest)
    }),
  )
})

test('ratios are compared exactly, however close they are', () => {
  fc.assert(
    fc.property(side, side, (numerator, denominator) => {
      const [a, b] = [ratio(numerator, denominator), ratio(numerator + 1n, denominator)]
      assert.deepEqual([compareRatios(a, b), compareRatios(b, a), compareRatios(a, a)], [-1, 1, 0])
    }),
  )
})

for (const [numerator, denominator] of [
  [0n, 1n],
  [-1n, 1n],
  [1n, 0n],
  [1n, -1n],
] as const) {
  test(`${numerator}/${denominator} is no rate`, () => {
    assert.throws(() => ratio(numerator, denominator), RangeError)
  })
}
