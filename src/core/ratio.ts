/** An exchange rate as integers: `numerator / denominator` fiat minor units for one whole coin. */
export interface Ratio {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Builds a ratio in lowest terms. Both sides must be positive: a rate of zero or less is no rate. */
export function ratio(numerator: bigint, denominator: bigint): Ratio {
  if (numerator <= 0n || denominator <= 0n) {
    throw new RangeError(`a rate is a positive ratio, got ${numerator}/${denominator}`)
  }
  const divisor = greatestCommonDivisor(numerator, denominator)
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

/** Negative when a < b, zero when equal, positive when a > b; exact. */
export function compareRatios(a: Ratio, b: Ratio): number {
  const left = a.numerator * b.denominator
  const right = b.numerator * a.denominator
  return left < right ? -1 : left > right ? 1 : 0
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b]
  while (y > 0n) [x, y] = [y, x % y]
  return x
}
