/**
 * Live rates. Each exchange is polled into memory at its own pace, and only while a live account may need a price; a
 * request reads memory and never waits for an exchange.
 */
import { ASSETS, type Asset, FIAT_CURRENCIES, type Fiat } from '../core/assets.ts'
import { OutsideFailure } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { backoffMs, pause } from '../core/pause.ts'
import { inMinorUnits, noRate, type PairName, pairName } from './pair.ts'
import { coinPrice, medianOf, TICKER_AGE_MS_MAX, type Tickers } from './quorum.ts'
import type { Rate, Rates, SourceState } from './rates.ts'
import type { Source, Ticker } from './sources/source.ts'

const INTERVAL_MS = 10_000
/** Below the age at which a ticker stops counting, so that an exchange that is back counts soon. */
const BACKOFF_MS_MAX = 60_000

export interface MarketOptions {
  readonly sources: readonly Source[]
  /** Whether anybody may need live prices now; asked before each poll. Nothing is polled while it answers false. */
  readonly isNeeded: () => Promise<boolean>
  readonly log: Log
  readonly intervalMs?: number
}

export interface Market extends Rates {
  /** Resolves when no poll is running and none will start. */
  stop(): Promise<void>
}

/** Starts polling. Prices are there within a second or two of the first need; until then there is no rate. */
export function startMarket(options: MarketOptions): Market {
  const tickers = new Map<string, ReadonlyMap<PairName, Ticker>>()
  /** Rates worked out since the last poll. */
  const known = new Map<PairName, Rate>()
  const last = new Map<string, LastAnswer>()
  const stopping = new AbortController()
  let needed = false

  const pollers = options.sources.map((source) =>
    poll({
      signal: stopping.signal,
      intervalMs: options.intervalMs ?? INTERVAL_MS,
      async turn() {
        // Whether the database answers is no matter of the exchange's.
        needed = await options.isNeeded().catch(() => needed)
        if (!needed) return
        const read = await source.readTickers(stopping.signal)
        tickers.set(source.name, new Map(read.map((ticker) => [ticker.pair, ticker])))
        known.clear()
        last.set(source.name, { answeredAt: new Date(), problem: null })
        options.log.debug({ source: source.name, pairs: read.length }, 'tickers read')
      },
      onFailure(error, failures) {
        const problem = error instanceof OutsideFailure ? error.message : 'its answer could not be read'
        last.set(source.name, { answeredAt: last.get(source.name)?.answeredAt ?? null, problem })
        options.log.warn({ source: source.name, failures, err: error }, 'tickers could not be read')
      },
    }),
  )

  const find = (asset: Asset, fiat: Fiat): Rate | null => {
    const name = pairName(asset, fiat)
    const found = known.get(name)
    if (found && Date.now() - found.at.getTime() < TICKER_AGE_MS_MAX) return found
    const quorum = coinPrice(tickers, asset, fiat, Date.now())
    const ratio = quorum && inMinorUnits(quorum.price)
    if (!ratio) return null
    const rate = { asset, fiat, ratio, source: quorum.source, at: quorum.at }
    known.set(name, rate)
    return rate
  }

  return {
    rate(asset, fiat) {
      const rate = find(asset, fiat)
      if (rate) return rate
      const seconds = TICKER_AGE_MS_MAX / 1000
      throw noRate(
        asset,
        fiat,
        `fewer than two exchanges agreed on it within the last ${seconds} s; try again shortly`,
      )
    },
    ageMs() {
      // Nothing is in use while nobody needs a price.
      if (!needed) return 0
      const rates = ASSETS.flatMap((asset) => FIAT_CURRENCIES.map((fiat) => find(asset, fiat)))
      const ages = rates.flatMap((rate) => (rate ? [Date.now() - rate.at.getTime()] : []))
      return ages.length === rates.length ? Math.max(...ages) : null
    },
    sources: () => options.sources.map(({ name }) => stateOf(name, tickers, last.get(name))),
    async stop() {
      stopping.abort()
      await Promise.all(pollers)
    },
  }
}

type LastAnswer = Pick<SourceState, 'answeredAt' | 'problem'>

const stateOf = (
  name: string,
  tickers: Tickers,
  last: LastAnswer = { answeredAt: null, problem: null },
): SourceState => ({
  name,
  ...last,
  price(asset, fiat) {
    const ticker = tickers.get(name)?.get(pairName(asset, fiat))
    return ticker ? inMinorUnits(ticker.price) : null
  },
  counts: (asset, fiat) =>
    medianOf(tickers, pairName(asset, fiat), Date.now())?.names.includes(name) === true,
})

interface Poll {
  readonly signal: AbortSignal
  readonly intervalMs: number
  turn(): Promise<void>
  onFailure(error: unknown, failures: number): void
}

/** Turn after turn; the pause doubles with every failure in a row. Jitter keeps many processes apart. */
async function poll({ signal, intervalMs, turn, onFailure }: Poll): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    try {
      await turn()
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      failures += 1
      onFailure(error, failures)
    }
    const pauseMs = backoffMs(failures + 1, {
      firstMs: intervalMs,
      maxMs: Math.max(intervalMs, BACKOFF_MS_MAX),
    })
    await pause(pauseMs * (0.9 + 0.2 * Math.random()), signal)
  }
}
