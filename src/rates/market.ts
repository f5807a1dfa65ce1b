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
  const answers = openAnswers()
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
        const beganMs = performance.now()
        const read = await source.readTickers(stopping.signal)
        answers.keep(source.name, read, beganMs)
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

  return {
    rate(asset, fiat) {
      const rate = answers.find(asset, fiat)
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
      const rates = ASSETS.flatMap((asset) => FIAT_CURRENCIES.map((fiat) => answers.find(asset, fiat)))
      const ages = rates.flatMap((rate) => (rate ? [Date.now() - rate.at.getTime()] : []))
      return ages.length === rates.length ? Math.max(...ages) : null
    },
    sources: () => options.sources.map(({ name }) => stateOf(name, answers, last.get(name))),
    async stop() {
      stopping.abort()
      await Promise.all(pollers)
    },
  }
}

/** What the exchanges said last, and the rates that were worked out from it. */
function openAnswers() {
  const said = new Map<string, ReadonlyMap<PairName, Ticker>>()
  /** What of it was asked for within the last minute by the steady clock. */
  const young = new Map<string, ReadonlyMap<PairName, Ticker>>()
  const askedAtMs = new Map<string, number>()
  const known = new Map<PairName, Rate>()

  /** A ticker's own age is told by the wall clock: were that alone asked, one of long ago would be young again when it is set back. */
  const live = (): Tickers => {
    const nowMs = performance.now()
    for (const [name, atMs] of askedAtMs)
      if (nowMs - atMs >= TICKER_AGE_MS_MAX && young.delete(name)) known.clear()
    return young
  }

  return {
    said: said as Tickers,
    live,
    /** @param atMs - When the exchange was asked, by `performance.now()`. */
    keep(name: string, read: readonly Ticker[], atMs: number): void {
      const tickers = new Map(read.map((ticker) => [ticker.pair, ticker]))
      said.set(name, tickers)
      young.set(name, tickers)
      askedAtMs.set(name, atMs)
      known.clear()
    },
    find(asset: Asset, fiat: Fiat): Rate | null {
      const tickers = live()
      const name = pairName(asset, fiat)
      const found = known.get(name)
      if (found && Date.now() - found.at.getTime() < TICKER_AGE_MS_MAX) return found
      const quorum = coinPrice(tickers, asset, fiat, Date.now())
      const ratio = quorum && inMinorUnits(quorum.price)
      if (!ratio) return null
      const rate = { asset, fiat, ratio, source: quorum.source, at: quorum.at }
      known.set(name, rate)
      return rate
    },
  }
}

type LastAnswer = Pick<SourceState, 'answeredAt' | 'problem'>

const stateOf = (
  name: string,
  { said, live }: ReturnType<typeof openAnswers>,
  last: LastAnswer = { answeredAt: null, problem: null },
): SourceState => ({
  name,
  ...last,
  price(asset, fiat) {
    const ticker = said.get(name)?.get(pairName(asset, fiat))
    return ticker ? inMinorUnits(ticker.price) : null
  },
  counts: (asset, fiat) => medianOf(live(), pairName(asset, fiat), Date.now())?.names.includes(name) === true,
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
