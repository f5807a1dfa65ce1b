/** One price out of what several exchanges say: a quorum or nothing. */
import { type Asset, FIAT_CURRENCIES, type Fiat } from '../core/assets.ts'
import { compareRatios, type Ratio } from '../core/ratio.ts'
import { invert, multiply, type PairName, pairName } from './pair.ts'
import { meanOf, type Ticker } from './sources/source.ts'

export const TICKER_AGE_MS_MAX = 60_000
const SOURCES_MIN = 2
const OUTLIER_PERCENT = 3n

/** What the named exchanges said last. */
export type Tickers = ReadonlyMap<string, ReadonlyMap<PairName, Ticker>>

export interface Quorum {
  readonly price: Ratio
  /** `median:coinbase,kraken`; joined by `*` where one price was reached through another. */
  readonly source: string
  /** Of the oldest ticker in it. */
  readonly at: Date
}

/**
 * The price of a coin in a fiat currency: of the pair itself where a quorum quotes it, else its price in another
 * currency times the price between the two. Stablecoins are coins like others, nowhere taken for a dollar.
 */
export function coinPrice(tickers: Tickers, asset: Asset, fiat: Fiat, nowMs: number): Quorum | null {
  const direct = medianOf(tickers, pairName(asset, fiat), nowMs)
  if (direct) return direct
  for (const other of FIAT_CURRENCIES) {
    const price = other === fiat ? null : medianOf(tickers, pairName(asset, other), nowMs)
    const cross = price && fiatPrice(tickers, other, fiat, nowMs)
    if (cross) return joined(price, cross, cross.price)
  }
  return null
}

/** A fiat currency in another: where exchanges trade the two, else through bitcoin, which each of them trades. */
function fiatPrice(tickers: Tickers, base: Fiat, quote: Fiat, nowMs: number): Quorum | null {
  const direct = medianOf(tickers, pairName(base, quote), nowMs)
  if (direct) return direct
  const inverse = medianOf(tickers, pairName(quote, base), nowMs)
  if (inverse) return { ...inverse, price: invert(inverse.price) }
  const inQuote = medianOf(tickers, pairName('BTC', quote), nowMs)
  const inBase = medianOf(tickers, pairName('BTC', base), nowMs)
  return inQuote && inBase && joined(inQuote, inBase, invert(inBase.price))
}

const joined = (a: Quorum, b: Quorum, factor: Ratio): Quorum => ({
  price: multiply(a.price, factor),
  source: `${a.source}*${b.source}`,
  at: a.at < b.at ? a.at : b.at,
})

export interface Median extends Quorum {
  /** The exchanges that it is made of. */
  readonly names: readonly string[]
}

/**
 * The median of what at least two exchanges said within the last minute, after dropping what is further than 3 % from
 * the median. Of an even number the lower middle one is the measure: of two that disagree, neither counts.
 */
export function medianOf(tickers: Tickers, pair: PairName, nowMs: number): Median | null {
  const live: { name: string; ticker: Ticker }[] = []
  for (const [name, of] of tickers) {
    const ticker = of.get(pair)
    if (ticker && nowMs - ticker.at.getTime() < TICKER_AGE_MS_MAX) live.push({ name, ticker })
  }
  live.sort((a, b) => compareRatios(a.ticker.price, b.ticker.price))
  const measure = live[Math.floor((live.length - 1) / 2)]
  if (!measure) return null
  const kept = live.filter(({ ticker }) => isNear(ticker.price, measure.ticker.price))
  const low = kept[Math.floor((kept.length - 1) / 2)]
  const high = kept[Math.ceil((kept.length - 1) / 2)]
  if (kept.length < SOURCES_MIN || !low || !high) return null
  const names = kept.map(({ name }) => name).sort()
  return {
    price: low === high ? low.ticker.price : meanOf(low.ticker.price, high.ticker.price),
    names,
    source: `median:${names.join(',')}`,
    at: new Date(Math.min(...kept.map(({ ticker }) => ticker.at.getTime()))),
  }
}

/** |price - measure| is at most 3 % of the measure; exact. */
function isNear(price: Ratio, measure: Ratio): boolean {
  const left = price.numerator * measure.denominator
  const right = measure.numerator * price.denominator
  const distance = left > right ? left - right : right - left
  return distance * 100n <= right * OUTLIER_PERCENT
}
