import assert from 'node:assert/strict'
import test from 'node:test'
import { ASSETS, FIAT_CURRENCIES } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { fixedRates } from './fixed.ts'
import { sandboxRates } from './sandbox.ts'

const DERIVED = [
  ['BTC/USD=65000', 'BTC', 'USD', [65_000_00n, 1n]],
  ['LTC/EUR=80.505', 'LTC', 'EUR', [16_101n, 2n]],
  [' BTC/USD = 65000 , EUR/USD=1.25', 'BTC', 'EUR', [52_000_00n, 1n]],
  ['BTC/USD=65000,USD/EUR=0.8', 'BTC', 'EUR', [52_000_00n, 1n]],
  ['BTC/USD=65000,BTC/EUR=52000,ETH/USD=3000', 'ETH', 'EUR', [2_400_00n, 1n]],
] as const

for (const [text, asset, fiat, [numerator, denominator]] of DERIVED) {
  test(`${text} prices ${asset} in ${fiat}`, () => {
    const rate = fixedRates(text).rate(asset, fiat)
    assert.deepEqual(rate.ratio, { numerator, denominator })
    assert.equal(rate.source, 'fixed')
    assert.ok(Math.abs(rate.at.getTime() - Date.now()) < 5_000)
  })
}

test('a pair that the fixed rates do not determine is refused, never guessed', () => {
  for (const [asset, fiat] of [
    ['ETH', 'USD'],
    ['BTC', 'EUR'],
  ] as const) {
    assert.throws(
      () => fixedRates('BTC/USD=65000').rate(asset, fiat),
      (error) => error instanceof Refusal && error.kind === 'unavailable' && error.reason === 'no_rate',
    )
  }
})

for (const text of [
  '',
  'BTC/USD',
  'BTC/USD=0',
  'BTC/USD=-1',
  'BTC/USD=1e5',
  'BTC/USD=1=2',
  'DOGE/USD=1',
  'BTC/JPY=1',
  'USD/USD=1',
  'USD/BTC=1',
  'BTC/USD=1,',
  'BTC/USD=1,BTC/USD=2',
]) {
  test(`fixed rates that read ${JSON.stringify(text)} are refused with the form they should have`, () => {
    assert.throws(() => fixedRates(text), /BTC\/USD=65000/)
  })
}

test('the market of test accounts prices every coin in every currency', () => {
  const rates = sandboxRates()
  for (const asset of ASSETS) {
    for (const fiat of FIAT_CURRENCIES) assert.equal(rates.rate(asset, fiat).source, 'sandbox')
  }
  assert.equal(rates.ageMs(), 0)
})
