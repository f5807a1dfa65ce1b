/**
 * The arithmetic of a quote. Each division names its rounding and who gains: the buyer pays the last fraction of
 * what is due, the merchant is never credited more than was sent, and the gateway's fee takes the rest.
 */
import { ASSET_FACTS, type Asset } from '../core/assets.ts'
import { divideDown, divideHalfUp, divideUp, larger, pow10, smaller } from '../core/money.ts'
import { type Ratio, ratio } from '../core/ratio.ts'

const BPS_PER_WHOLE = 10_000n

/**
 * Atoms the buyer must send for a fiat price.
 *
 * @param fiatMinor - Price in minor units of the fiat currency (cents), above zero.
 * @param rate - Fiat minor units per whole coin.
 * @returns Atoms, rounded up to the asset's payable precision: the merchant never loses the fraction, and the decimal
 *   that the buyer types is exactly this many atoms.
 * @throws {RangeError} when the price is not above zero.
 */
export function dueAtoms(fiatMinor: bigint, rate: Ratio, asset: Asset): bigint {
  if (fiatMinor <= 0n) throw new RangeError(`a price is above zero, got ${fiatMinor} minor units`)
  const { decimals, payableDecimals } = ASSET_FACTS[asset]
  const payable = divideUp(fiatMinor * rate.denominator * pow10(payableDecimals), rate.numerator)
  return payable * pow10(decimals - payableDecimals)
}

/**
 * How much less than what is due still pays it: the merchant's tolerance, or what is too small to be sent, whichever is
 * more. The merchant bears what is missing.
 *
 * @param bps - Hundredths of a percent, 0 to 500.
 * @returns Atoms, rounded down, always less than what is due.
 */
export function toleratedAtoms(due: bigint, asset: Asset, bps: number): bigint {
  const tolerated = divideDown(due * BigInt(bps), BPS_PER_WHOLE)
  const unsendable = ASSET_FACTS[asset].dustAtoms - 1n
  return smaller(larger(tolerated, unsendable), due - 1n)
}

/**
 * The gateway's fee on a price, in minor units: a half cent rounds up, to the gateway.
 *
 * @param bps - Hundredths of a percent, 0 to 10,000.
 */
export function feeMinor(fiatMinor: bigint, bps: bigint): bigint {
  requireBps(bps)
  return divideHalfUp(fiatMinor * bps, BPS_PER_WHOLE)
}

export interface CreditSplit {
  readonly netAtoms: bigint
  readonly feeAtoms: bigint
}

/**
 * Divides atoms between merchant and gateway in the proportion of the quote's net to its gross. The net rounds down
 * and the fee takes the rest, so that the two are always exactly the atoms.
 *
 * @param atoms - What is settled: the due of the quote, or what an acceptance credits.
 * @throws {RangeError} when the net is above the gross.
 */
export function splitCredit(atoms: bigint, fiatMinor: bigint, netMinor: bigint): CreditSplit {
  if (netMinor > fiatMinor) throw new RangeError(`a net of ${netMinor} is above its gross of ${fiatMinor}`)
  const netAtoms = divideDown(atoms * netMinor, fiatMinor)
  return { netAtoms, feeAtoms: atoms - netAtoms }
}

/** What atoms are worth in fiat minor units, rounded down: an estimate never promises more than there is. */
export function fiatValue(atoms: bigint, asset: Asset, rate: Ratio): bigint {
  return divideDown(atoms * rate.numerator, rate.denominator * pow10(ASSET_FACTS[asset].decimals))
}

/**
 * Minor units of one fiat currency per minor unit of another, from the rates of one coin in both at the same moment.
 *
 * @param from - Rate of the coin in the currency that is converted.
 * @param to - Rate of the same coin in the currency that is wanted.
 */
export function crossRate(from: Ratio, to: Ratio): Ratio {
  return ratio(to.numerator * from.denominator, to.denominator * from.numerator)
}

/** An amount of one fiat currency in another, half up to the minor unit: for sums that are shown, never for coins. */
export function convertFiat(minor: bigint, cross: Ratio): bigint {
  return divideHalfUp(minor * cross.numerator, cross.denominator)
}

function requireBps(bps: bigint): void {
  if (bps < 0n || bps > BPS_PER_WHOLE) {
    throw new RangeError(`a fee is 0 to ${BPS_PER_WHOLE} hundredths of a percent, got ${bps}`)
  }
}
