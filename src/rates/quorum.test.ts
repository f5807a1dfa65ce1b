import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { compareRatios, type Ratio, ratio } from '../core/ratio.ts'
import type { PairName } from './pair.ts'
import { coinPrice, medianOf, type Tickers } from './quorum.ts'
import type { Ticker } from './sources/source.ts'

const NOW = 1_800_000_000_000

const tickersOf = (said: Readonly<Record<string, Readonly<Partial<Record<PairName, number>>>>>): Tickers =>
  new Map(
    Object.entries(said).map(([name, prices]) => [
      name,
      new Map(
        Object.entries(prices).map(([pair, price]): [PairName, Ticker] => [
          pair as PairName,
          {
            pair: pair as PairName,
            price: ratio(BigInt(Math.round(price * 1e6)), 1_000_000n),
            at: new Date(NOW),
          },
        ]),
      ),
    ]),
  )

const number = (price: Ratio | undefined) => price && Number(price.numerator) / Number(price.denominator)

const MEDIANS = [
  // [what the exchanges say, the price or none, whose]
  [[100], undefined, ''],
  [[100, 101], 100.5, 'a,b'],
  [[100, 103], 101.5, 'a,b'],
  [[100, 104], undefined, ''],
  [[100, 1000], undefined, ''],
  [[100, 0.01], undefined, ''],
  [[100, 102, 1000], 101, 'a,b'],
  [[100, 102, 0.01], 101, 'a,b'],
  [[100, 101, 102], 101, 'a,b,c'],
  [[100, 101, 1010, 0.01], 100.5, 'a,b'],
  [[100, 101, 102, 103, 1020], 101.5, 'a,b,c,d'],
  [[50, 100, 200], undefined, ''],
] as const

for (const [said, price, names] of MEDIANS) {
  test(`exchanges that say ${said.join(', ')} make ${price ?? 'no rate'}`, () => {
    const tickers = tickersOf(Object.fromEntries(said.map((value, i) => ['abcde'[i], { 'BTC/USD': value }])))
    const quorum = medianOf(tickers, 'BTC/USD', NOW)
    assert.equal(number(quorum?.price), price)
    if (quorum) assert.equal(quorum.source, `median:${names}`)
  })
}

test('a ticker of a minute ago does not count, and a rate is as old as its oldest ticker', () => {
  const at = (ageMs: number): Ticker => ({
    pair: 'BTC/USD',
    price: ratio(100n, 1n),
    at: new Date(NOW - ageMs),
  })
  const of = (...ages: number[]): Tickers =>
    new Map(ages.map((age, i) => [`s${i}`, new Map([['BTC/USD' as const, at(age)]])]))
  assert.equal(medianOf(of(0, 60_000), 'BTC/USD', NOW), null)
  assert.deepEqual(medianOf(of(0, 59_999, 60_000), 'BTC/USD', NOW)?.at, new Date(NOW - 59_999))
})

const DERIVED = [
  [
    'through a fiat pair that exchanges trade',
    { a: { 'USDT/USD': 1, 'EUR/USD': 1.25 }, b: { 'USDT/USD': 1, 'EUR/USD': 1.25 } },
    0.8,
    'median:a,b*median:a,b',
  ],
  [
    'through bitcoin where fewer than two trade the fiat pair',
    {
      a: { 'USDT/USD': 1, 'EUR/USD': 1.25, 'BTC/USD': 1250, 'BTC/EUR': 1000 },
      b: { 'USDT/USD': 1, 'BTC/USD': 1250 },
      c: { 'BTC/EUR': 1000 },
    },
    0.8,
    'median:a,b*median:a,c*median:a,b',
  ],
  [
    'not from a single exchange',
    { a: { 'USDT/USD': 1, 'EUR/USD': 1.25 }, b: { 'EUR/USD': 1.25 } },
    undefined,
    '',
  ],
  [
    'not as a dollar when nobody prices it',
    { a: { 'EUR/USD': 1.25 }, b: { 'EUR/USD': 1.25 } },
    undefined,
    '',
  ],
  [
    'from the pair itself first',
    { a: { 'USDT/EUR': 0.9, 'USDT/USD': 1 }, b: { 'USDT/EUR': 0.9 } },
    0.9,
    'median:a,b',
  ],
] as const

for (const [how, said, price, source] of DERIVED) {
  test(`USDT is priced in euro ${how}`, () => {
    const quorum = coinPrice(tickersOf(said), 'USDT', 'EUR', NOW)
    assert.equal(number(quorum?.price), price)
    if (quorum) assert.equal(quorum.source, source)
  })
}

test('while more than half are honest, no liar moves a price beyond what honest exchanges say', () => {
  const honest = fc.array(fc.integer({ min: 1_000_000, max: 1_010_000 }), { minLength: 3, maxLength: 5 })
  const lies = fc.array(fc.integer({ min: 1, max: 100_000_000 }), { minLength: 0, maxLength: 2 })
  fc.assert(
    fc.property(honest, lies, (truths, liars) => {
      const all = [...truths, ...liars.slice(0, truths.length - 1)]
      const tickers = tickersOf(
        Object.fromEntries(all.map((value, i) => [`s${i}`, { 'BTC/USD': value / 1e4 }])),
      )
      const quorum = medianOf(tickers, 'BTC/USD', NOW)
      assert.ok(quorum)
      // A lie of less than 3 % may pass as an opinion; it moves the median by no more than itself.
      assert.ok(compareRatios(quorum.price, ratio(BigInt(Math.min(...truths)) * 97n, 1_000_000n)) >= 0)
      assert.ok(compareRatios(quorum.price, ratio(BigInt(Math.max(...truths)) * 103n, 1_000_000n)) <= 0)
    }),
  )
})
