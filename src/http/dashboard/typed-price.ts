/** Money as people type it on the dashboard. Its pages do not know how they write thousands: `1,000` and `49.990` are refused. */
import type { Fiat } from '../../core/assets.ts'
import { invalidField } from '../../core/errors.ts'
import { fiatToNumber } from '../../core/money.ts'
import { readAmount } from '../hosted/amount.ts'

/** The number that the text stands for, in any currency; null where it stands for none. */
export function readTypedNumber(text: string): number | null {
  const minor = readAmount(text, null, null)
  return minor === null ? null : fiatToNumber(minor)
}

/** Minor units of a price. @throws {Refusal} `invalid`, `invalid_amount`, with what was typed. */
export function readTypedPrice(field: string, text: string, currency: Fiat): bigint {
  const minor = readAmount(text, null, currency)
  if (minor !== null && minor > 0n) return minor
  throw invalidField(
    field,
    'invalid_amount',
    `expected an amount above 0 in ${currency} with at most two decimals, such as 49.99; got "${text.slice(0, 40)}"`,
  )
}
