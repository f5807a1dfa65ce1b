/**
 * Money without floats. Coins are `bigint` atoms, fiat is `bigint` minor units (cents); decimals exist
 * only at the edges, parsed and written here. Parsing refuses digits that the unit cannot hold.
 */
import { ASSET_FACTS, type Asset } from './assets.ts'

const DECIMAL = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/** Digits after the point of every fiat currency Beck prices in. */
export const FIAT_DECIMALS = 2

/**
 * Reads an unsigned decimal string such as `0.015` into the smallest unit.
 *
 * @param decimals - Digits after the point that the unit holds.
 * @returns The amount, or null when the text is not a plain decimal or has more digits than the unit
 *   holds. Nothing is ever rounded; trailing zeros beyond the unit are excess digits too.
 */
export function parseDecimal(text: string, decimals: number): bigint | null {
  const match = DECIMAL.exec(text)
  if (!match || text.length > 80) return null
  const fraction = match[2] ?? ''
  if (fraction.length > decimals) return null
  return BigInt((match[1] ?? '') + fraction.padEnd(decimals, '0'))
}

/** Writes an amount of the smallest unit as a decimal without trailing zeros: `1500000n, 8` is `0.015`. */
export function formatDecimal(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/(?<!0)0+$/, '')
  return sign + whole + (fraction ? `.${fraction}` : '')
}

/** Atoms as a decimal of whole coins: `0.015`. */
export const formatAmount = (atoms: bigint, asset: Asset): string =>
  formatDecimal(atoms, ASSET_FACTS[asset].decimals)

/** The same with the coin's name: `0.015 BTC`. */
export const formatCoins = (atoms: bigint, asset: Asset): string => `${formatAmount(atoms, asset)} ${asset}`

/**
 * Reads a JSON number of fiat, exact to the cent.
 *
 * @returns Minor units, or null when the number is negative, not finite, or has more than two decimals.
 */
export function fiatFromNumber(value: number): bigint | null {
  if (!Number.isFinite(value) || value < 0 || value >= 1e15) return null
  return parseDecimal(String(value), FIAT_DECIMALS)
}

/** Writes minor units as the JSON number with at most two decimals that the contract shows. */
export const fiatToNumber = (minor: bigint): number => Number(formatDecimal(minor, FIAT_DECIMALS))

/** Quotient rounded down: the remainder stays with the divided side. */
export function divideDown(dividend: bigint, divisor: bigint): bigint {
  if (divisor <= 0n || dividend < 0n)
    throw new RangeError(`divideDown takes 0 or more by more than 0, got ${dividend} / ${divisor}`)
  return dividend / divisor
}

/** Quotient rounded up: whoever receives the quotient never loses the fraction. */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  if (divisor <= 0n || dividend < 0n)
    throw new RangeError(`divideUp takes 0 or more by more than 0, got ${dividend} / ${divisor}`)
  return (dividend + divisor - 1n) / divisor
}

/** Quotient rounded to the nearest, a half upwards. */
export function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  if (divisor <= 0n || dividend < 0n)
    throw new RangeError(`divideHalfUp takes 0 or more by more than 0, got ${dividend} / ${divisor}`)
  return (2n * dividend + divisor) / (2n * divisor)
}

/** Quotient rounded towards zero, also of what is below zero: for changes that are shown, never for what somebody is owed. */
export const divideTowardsZero = (dividend: bigint, divisor: bigint): bigint => dividend / divisor

export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)

export const notBelowZero = (amount: bigint): bigint => larger(amount, 0n)

export const pow10 = (digits: number): bigint => 10n ** BigInt(digits)
