import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { type Behaviour, type Exchange, type ExchangeName, startExchange } from '../../test/exchange.ts'
import { ASSETS, FIAT_CURRENCIES } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { SILENT } from '../core/log.ts'
import { startMarket } from './market.ts'
import type { Rates } from './rates.ts'
import { binance } from './sources/binance.ts'
import { bitstamp } from './sources/bitstamp.ts'
import { coinbase } from './sources/coinbase.ts'
import { gemini } from './sources/gemini.ts'
import { kraken } from './sources/kraken.ts'

const PRICES = {
  'BTC/USD': 65_000,
  'ETH/USD': 3_000,
  'LTC/USD': 80,
  'USDC/USD': 1,
  'USDT/USD': 0.999,
  'EUR/USD': 1.08,
  'GBP/USD': 1.27,
}
const OPEN = { coinbase, kraken, bitstamp, binance, gemini }

interface Setting {
  readonly exchanges: Readonly<Record<string, Exchange>>
  readonly market: Rates & { stop(): Promise<void> }
}

async function open(
  names: readonly ExchangeName[],
  { isNeeded = async () => true, timeoutMs = 30_000 } = {},
): Promise<Setting> {
  const exchanges: Record<string, Exchange> = {}
  for (const name of names) exchanges[name] = await startExchange(name, PRICES)
  const sources = names.map((name) => OPEN[name]({ baseUrl: exchanges[name]?.url ?? '', timeoutMs }))
  const market = startMarket({ sources, isNeeded, log: SILENT, intervalMs: 20 })
  after(() => market.stop())
  return { exchanges, market }
}

const priced = (market: Rates, asset: 'BTC' | 'USDT' = 'BTC') => {
  const { ratio } = market.rate(asset, 'USD')
  return Number(ratio.numerator) / Number(ratio.denominator)
}

const isNoRate = (error: unknown) =>
  error instanceof Refusal && error.kind === 'unavailable' && error.reason === 'no_rate'

/** Waits until a condition holds; the test's own timeout ends what never does. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const has = (market: Rates) => {
  try {
    return market.rate('BTC', 'USD').source
  } catch (error) {
    assert.ok(isNoRate(error))
    return null
  }
}

test('every coin has a live rate in every currency, with source and time', { timeout: 60_000 }, async () => {
  const { market } = await open(['coinbase', 'kraken', 'bitstamp', 'gemini', 'binance'])
  await until(() => market.ageMs() !== null)
  await until(() => has(market) === 'median:bitstamp,coinbase,gemini,kraken')
  for (const asset of ASSETS)
    for (const fiat of FIAT_CURRENCIES) assert.match(market.rate(asset, fiat).source, /^median:\w+,\w+/)
  assert.ok(Math.abs(priced(market) - 65_000_00) < 1)
  assert.ok(Math.abs(priced(market, 'USDT') - 99.9) < 0.001, 'a stablecoin is priced, not taken for a dollar')
  assert.ok(market.rate('BTC', 'USD').at.getTime() > Date.now() - 60_000)
})

const LIES: readonly Behaviour[] = ['zero', 'negative', 'inverted', 'tenfold', 'stale', 'numbers', 'crossed']
const NEVER_ANSWERS: readonly Behaviour[] = ['stall', 'drip']
const NO_PRICES: readonly Behaviour[] = ['empty', 'garbage', 'huge', 'redirect', 'error']

for (const behaviour of [...LIES, ...NEVER_ANSWERS, ...NO_PRICES]) {
  // Who never answers is asked again soon; whoever answers has time for it on a busy machine.
  const waiting = NEVER_ANSWERS.includes(behaviour) ? { timeoutMs: 200 } : {}
  test(`one exchange that gives ${behaviour} from the start changes no price`, {
    timeout: 60_000,
  }, async () => {
    const { exchanges, market } = await open(['coinbase', 'kraken', 'bitstamp'], waiting)
    exchanges.bitstamp?.behave(behaviour)
    await until(() => has(market) === 'median:coinbase,kraken' && (exchanges.bitstamp?.requests() ?? 0) > 1)
    assert.ok(Math.abs(priced(market) - 65_000_00) < 1)
    await market.stop()
  })

  test(`of two exchanges one that gives ${behaviour} leaves no rate, never a guess`, {
    timeout: 60_000,
  }, async () => {
    const { exchanges, market } = await open(['kraken', 'bitstamp'], waiting)
    exchanges.bitstamp?.behave(behaviour)
    await until(() => (exchanges.bitstamp?.requests() ?? 0) > 1 && (exchanges.kraken?.requests() ?? 0) > 1)
    assert.throws(() => market.rate('BTC', 'USD'), isNoRate)
    assert.equal(market.ageMs(), null)
    await market.stop()
  })
}

test('prices follow the exchanges, and an exchange that comes back counts again', {
  timeout: 60_000,
}, async () => {
  const { exchanges, market } = await open(['coinbase', 'kraken', 'bitstamp'])
  exchanges.bitstamp?.behave('error')
  await until(() => has(market) === 'median:coinbase,kraken')
  exchanges.bitstamp?.behave('answer')
  await until(() => has(market) === 'median:bitstamp,coinbase,kraken')
  for (const exchange of Object.values(exchanges)) exchange.price({ ...PRICES, 'BTC/USD': 70_000 })
  await until(() => has(market) !== null && Math.abs(priced(market) - 70_000_00) < 1)
})

test('exchanges that stopped answering stop counting after a minute, wherever the wall clock is set meanwhile', {
  timeout: 60_000,
}, async (t) => {
  const { exchanges, market } = await open(['coinbase', 'kraken', 'bitstamp'])
  await until(() => has(market) === 'median:bitstamp,coinbase,kraken')
  for (const exchange of Object.values(exchanges)) exchange.behave('error')
  await until(() => market.sources().every(({ problem }) => problem !== null))
  const [wall, steady] = [Date.now.bind(Date), performance.now.bind(performance)]
  t.mock.method(Date, 'now', () => wall() - 3_600_000)
  t.mock.method(performance, 'now', () => steady() + 60_000)
  assert.equal(has(market), null)
  assert.ok(market.sources().every((source) => !source.counts('BTC', 'USD') && source.price('BTC', 'USD')))
})

test('a database that does not say whether prices are needed is no trouble of an exchange', {
  timeout: 60_000,
}, async () => {
  let asked = 0
  const { exchanges, market } = await open(['kraken', 'bitstamp'], {
    async isNeeded() {
      // Once each: from then on nobody knows.
      if (++asked > 2) throw new Error('PostgreSQL is not reachable')
      return true
    },
  })
  for (const { requests } of Object.values(exchanges)) await until(() => requests() > 3)
  assert.ok(has(market))
  for (const { problem } of market.sources()) assert.equal(problem, null)
})

test('no exchange is asked while nobody needs a price', { timeout: 60_000 }, async () => {
  let needed = false
  let asked = 0
  const { exchanges, market } = await open(['kraken', 'bitstamp'], {
    isNeeded: async () => {
      asked += 1
      return needed
    },
  })
  await until(() => asked > 4)
  assert.equal(exchanges.kraken?.requests(), 0)
  assert.equal(market.ageMs(), 0)
  assert.throws(() => market.rate('BTC', 'USD'), isNoRate)
  needed = true
  await until(() => has(market) !== null)
})

test('what each exchange said is shown beside the rate: who counts, who is far off, who does not answer', async () => {
  const { exchanges, market } = await open(['coinbase', 'kraken', 'bitstamp', 'gemini'])
  assert.ok(market.sources().every(({ answeredAt, problem }) => answeredAt === null && problem === null))
  await until(() => market.sources().every(({ answeredAt }) => answeredAt !== null))
  exchanges.kraken?.price({ ...PRICES, 'BTC/USD': 90_000 })
  exchanges.gemini?.behave('error')
  const state = (name: string) => market.sources().find((each) => each.name === name)
  await until(
    () => state('kraken')?.counts('BTC', 'USD') === false && (state('gemini')?.problem ?? null) !== null,
  )
  assert.deepEqual(
    market.sources().map(({ name }) => name),
    ['coinbase', 'kraken', 'bitstamp', 'gemini'],
  )
  const price = state('kraken')?.price('BTC', 'USD')
  assert.equal(price && price.numerator / price.denominator, 9_000_000n)
  assert.deepEqual([state('coinbase')?.counts('BTC', 'USD'), state('coinbase')?.problem], [true, null])
  assert.ok(state('gemini')?.answeredAt, 'it answered before')
})
