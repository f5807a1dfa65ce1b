import { invalidField } from '../core/errors.ts'
import { fiatFromNumber } from '../core/money.ts'

/** Reads a price of a body. @throws {Refusal} `invalid` for zero or less, and for more than two decimals. */
export function readPrice(field: string, amount: number): bigint {
  const minor = fiatFromNumber(amount)
  if (minor !== null && minor > 0n) return minor
  throw invalidField(
    field,
    'invalid_amount',
    `${field} must be more than 0 and have at most two decimals, got ${JSON.stringify(amount)}`,
  )
}
