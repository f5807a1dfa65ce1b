/** Rates that the operator names, for closed networks: `BECK_RATES=fixed:BTC/USD=65000,EUR/USD=1.08`. */
import { ASSETS, type Asset, FIAT_CURRENCIES, type Fiat } from '../core/assets.ts'
import type { Ratio } from '../core/ratio.ts'
import {
  inMinorUnits,
  invert,
  multiply,
  noRate,
  type PairName,
  pairName,
  parsePair,
  parsePrice,
} from './pair.ts'
import type { Rates } from './rates.ts'

const FORM =
  'expected pairs such as BTC/USD=65000,LTC/USD=80.5,EUR/USD=1.08 (coins BTC, LTC, ETH, USDC, USDT; fiat USD, EUR, GBP)'

/**
 * Constant rates. A pair that is not named is derived when the named ones determine it: through a price between the
 * two fiat currencies, named in either direction or by a coin that is named in both.
 *
 * @param text - Pairs and prices, comma-separated: whole units of the right side for one of the left.
 * @param source - What payments record as the source of their rate.
 * @throws {RangeError} when the text is not of that form or names a pair twice.
 */
export function fixedRates(text: string, source = 'fixed'): Rates {
  const prices = parsePrices(text)
  const rates = new Map<PairName, Ratio>()
  for (const asset of ASSETS) {
    for (const fiat of FIAT_CURRENCIES) {
      const price = priceOf(prices, asset, fiat)
      const rate = price && inMinorUnits(price)
      if (rate) rates.set(pairName(asset, fiat), rate)
    }
  }
  return {
    rate(asset, fiat) {
      const rate = rates.get(pairName(asset, fiat))
      if (!rate) {
        throw noRate(
          asset,
          fiat,
          `the operator's fixed rates do not determine it; name ${asset}/${fiat} in BECK_RATES`,
        )
      }
      return { asset, fiat, ratio: rate, source, at: new Date() }
    },
    ageMs: () => 0,
    sources: () => [],
  }
}

type Prices = ReadonlyMap<PairName, Ratio>

function parsePrices(text: string): Prices {
  const prices = new Map<PairName, Ratio>()
  for (const entry of text.split(',')) {
    const [left = '', right = '', ...rest] = entry.split('=').map((part) => part.trim())
    const name = parsePair(left)
    const price = parsePrice(right)
    if (!name || !price || rest.length > 0) {
      throw new RangeError(`a fixed rate reads ${JSON.stringify(entry.trim())}; ${FORM}`)
    }
    if (prices.has(name)) throw new RangeError(`the fixed rates name ${name} twice; ${FORM}`)
    prices.set(name, price)
  }
  return prices
}

function priceOf(prices: Prices, asset: Asset, fiat: Fiat): Ratio | null {
  const named = prices.get(pairName(asset, fiat))
  if (named) return named
  for (const other of FIAT_CURRENCIES) {
    const price = prices.get(pairName(asset, other))
    const cross = price && fiatPriceOf(prices, other, fiat)
    if (cross) return multiply(price, cross)
  }
  return null
}

function fiatPriceOf(prices: Prices, base: Fiat, quote: Fiat): Ratio | null {
  const named = prices.get(pairName(base, quote))
  if (named) return named
  const inverse = prices.get(pairName(quote, base))
  if (inverse) return invert(inverse)
  for (const asset of ASSETS) {
    const inBase = prices.get(pairName(asset, base))
    const inQuote = prices.get(pairName(asset, quote))
    if (inBase && inQuote) return multiply(inQuote, invert(inBase))
  }
  return null
}
