/** Pairs of currencies and their prices: what exchanges quote and what an operator fixes. */
import { type Asset, type Fiat, isAsset, isFiat } from '../core/assets.ts'
import { type Refusal, unavailable } from '../core/errors.ts'
import { divideHalfUp, FIAT_DECIMALS, pow10 } from '../core/money.ts'
import { type Ratio, ratio } from '../core/ratio.ts'

/** `BTC/USD`: the price of the left side is so many whole units of the right, a coin in fiat or one fiat currency in another. */
export type PairName = `${Asset | Fiat}/${Fiat}`

export const pairName = (base: Asset | Fiat, quote: Fiat): PairName => `${base}/${quote}`

/** Reads `BTC/USD` or `EUR/USD`; null when a side is unknown, the quote is not fiat, or both are the same. */
export function parsePair(text: string): PairName | null {
  const [base, quote, ...rest] = text.split('/')
  if (!base || !quote || rest.length > 0 || base === quote || !isFiat(quote)) return null
  return isAsset(base) || isFiat(base) ? pairName(base, quote) : null
}

/** More digits than any market quotes; what is longer is garbage, and would not fit the columns that keep rates. */
const PRICE = /^([0-9]{1,12})(?:\.([0-9]{1,12}))?$/

/** Reads a price such as `65000.10` exactly; null when it is not a plain decimal above zero. */
export function parsePrice(text: string): Ratio | null {
  const match = PRICE.exec(text)
  if (!match) return null
  const fraction = match[2] ?? ''
  const numerator = BigInt((match[1] ?? '') + fraction)
  return numerator > 0n ? ratio(numerator, pow10(fraction.length)) : null
}

export const multiply = (a: Ratio, b: Ratio): Ratio =>
  ratio(a.numerator * b.numerator, a.denominator * b.denominator)

export const invert = (a: Ratio): Ratio => ({ numerator: a.denominator, denominator: a.numerator })

const RATE_DIGITS = 12

/**
 * The rate that is locked onto payments: a price in minor units, half up at the twelfth digit after the point, so
 * that prices derived from others stay as short as quoted ones. Null when nothing of it remains.
 */
export function inMinorUnits(price: Ratio): Ratio | null {
  const units = divideHalfUp(price.numerator * pow10(FIAT_DECIMALS + RATE_DIGITS), price.denominator)
  return units > 0n ? ratio(units, pow10(RATE_DIGITS)) : null
}

/** There is no price to quote now: never a guess. */
export const noRate = (asset: Asset, fiat: Fiat, why: string): Refusal =>
  unavailable('no_rate', `there is no rate for ${asset} in ${fiat} now: ${why}`)
