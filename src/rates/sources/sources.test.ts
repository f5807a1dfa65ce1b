import assert from 'node:assert/strict'
import test from 'node:test'
import { BEHAVIOURS, type Behaviour, type ExchangeName, startExchange } from '../../../test/exchange.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { binance } from './binance.ts'
import { bitstamp } from './bitstamp.ts'
import { coinbase } from './coinbase.ts'
import { gemini } from './gemini.ts'
import { kraken } from './kraken.ts'
import type { Source, SourceOptions } from './source.ts'

const PRICES = {
  'BTC/USD': 65_000,
  'BTC/EUR': 60_000,
  'LTC/USD': 80.5,
  'USDT/USD': 0.9991,
  'EUR/USD': 1.0825,
  'EUR/USDC': 1.08,
}

const SOURCES: Readonly<Record<ExchangeName, [(options: SourceOptions) => Source, string[]]>> = {
  coinbase: [coinbase, ['BTC/EUR', 'BTC/USD', 'LTC/USD', 'USDT/USD']],
  kraken: [kraken, ['BTC/EUR', 'BTC/USD', 'EUR/USD', 'LTC/USD', 'USDT/USD']],
  bitstamp: [bitstamp, ['BTC/EUR', 'BTC/USD', 'EUR/USD', 'LTC/USD', 'USDT/USD']],
  binance: [binance, ['BTC/EUR', 'USDC/EUR']],
  gemini: [gemini, ['BTC/USD', 'LTC/USD', 'USDT/USD']],
}

/** What each bad behaviour comes to: nothing at all, or a list without a usable ticker. */
const NOTHING_USABLE: Partial<Record<Behaviour, 'fails' | 'empty'>> = {
  stall: 'fails',
  drip: 'fails',
  garbage: 'fails',
  huge: 'fails',
  redirect: 'fails',
  error: 'fails',
  zero: 'empty',
  negative: 'empty',
  numbers: 'empty',
  crossed: 'empty',
}

const NEVER_ANSWERS: ReadonlySet<Behaviour> = new Set(['stall', 'drip'])

for (const [name, [open, pairs]] of Object.entries(SOURCES)) {
  const exchange = await startExchange(name as ExchangeName, PRICES)
  // Only who never answers is not waited for: a busy machine takes its time to answer.
  const read = (behaviour?: Behaviour) => {
    const timeoutMs = behaviour && NEVER_ANSWERS.has(behaviour) ? 100 : 30_000
    return open({ baseUrl: exchange.url, timeoutMs }).readTickers(new AbortController().signal)
  }

  test(`${name}: the middle of each book is read exactly, with a time`, async () => {
    exchange.behave('answer')
    const tickers = await read()
    assert.deepEqual(tickers.map(({ pair }) => pair).sort(), pairs)
    for (const { pair, price, at } of tickers) {
      assert.ok(Math.abs(Date.now() - at.getTime()) < 5_000)
      const expected = pair === 'USDC/EUR' ? 1 / 1.08 : PRICES[pair as keyof typeof PRICES]
      const got = Number(price.numerator) / Number(price.denominator)
      assert.ok(Math.abs(got / expected - 1) < 1e-6, `${pair} reads ${got}`)
    }
  })

  for (const behaviour of BEHAVIOURS) {
    const outcome = NOTHING_USABLE[behaviour]
    if (!outcome) continue
    test(`${name}: a server that gives ${behaviour} gives no ticker`, async () => {
      exchange.behave(behaviour)
      if (outcome === 'fails') await assert.rejects(read(behaviour), OutsideFailure)
      else assert.deepEqual(await read(behaviour), [])
    })
  }

  test(`${name}: an answer of another shape gives no ticker`, async () => {
    exchange.behave('empty')
    const tickers = await read().catch((failure: unknown) => {
      assert.ok(failure instanceof OutsideFailure)
      return []
    })
    assert.deepEqual(tickers, [])
  })

  // Kraken's answer carries no time. Gemini's is that of its volume: when it stands still, so does the feed.
  if (name !== 'kraken') {
    test(`${name}: an old ticker ${name === 'gemini' ? 'is left out' : 'keeps its age'}`, async () => {
      exchange.behave('stale')
      const tickers = await read()
      assert.equal(tickers.length, name === 'gemini' ? 0 : pairs.length)
      for (const { at } of tickers) assert.ok(Date.now() - at.getTime() > 60_000)
    })
  }
}

for (const [name, unlisted, left] of [
  ['kraken', 'LTC/USD', ['BTC/EUR', 'BTC/USD', 'EUR/USD', 'USDT/USD']],
  ['binance', 'EUR/USDC', ['BTC/EUR']],
] as const) {
  test(`${name}: a pair that is listed no more takes no other pair with it`, async () => {
    const exchange = await startExchange(name, PRICES)
    const [open] = SOURCES[name]
    const source = open({ baseUrl: exchange.url, timeoutMs: 30_000 })
    const read = async () => (await source.readTickers(new AbortController().signal)).map(({ pair }) => pair)
    exchange.unlist(unlisted)
    assert.deepEqual((await read()).sort(), left)
    const before = exchange.requests()
    assert.deepEqual((await read()).sort(), left)
    assert.equal(exchange.requests(), before + 1, 'and is asked for no more')
  })
}
