/** Reading what a node answered: anything that is not of the expected shape is a failure of the node, not of ours. */
import { OutsideFailure } from '../../core/errors.ts'
import { parseDecimal } from '../../core/money.ts'

const COIN_DECIMALS = 8

export function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw new OutsideFailure(`the node sent ${typeof value} instead of a text`, { retryable: true })
}

/** The id of a transaction: 64 hexadecimal digits, as rows and comparisons have them. */
export function txid(value: unknown): string {
  const id = text(value)
  if (/^[0-9a-f]{64}$/.test(id)) return id
  throw new OutsideFailure(`the node sent ${JSON.stringify(id.slice(0, 80))} instead of an id`, {
    retryable: true,
  })
}

export function count(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new OutsideFailure(`the node sent ${String(value)} instead of a whole number`, { retryable: true })
}

/**
 * Atoms of an amount that the node wrote as a decimal of the coin. Exact: below 45 million coins two neighbouring
 * floats are less than an atom apart, and `toFixed` works on the float's exact value.
 */
export function coinAtoms(value: unknown): bigint {
  const atoms = typeof value === 'number' ? parseDecimal(value.toFixed(COIN_DECIMALS), COIN_DECIMALS) : null
  if (atoms === null)
    throw new OutsideFailure(`the node sent the amount ${String(value)}`, { retryable: true })
  return atoms
}
