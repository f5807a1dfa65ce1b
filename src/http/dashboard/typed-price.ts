/** Money as people type it: a point or a comma, the sign of a currency or none. */
import { invalidField } from '../../core/errors.ts'
import { fiatFromNumber } from '../../core/money.ts'

/** The number that the text stands for; null for anything else, such as `1,000`. */
export const amountIn = (text: string): number | null =>
  /^[^\d-]?\d{1,12}([.,]\d{1,2})?$/.test(text) ? Number(text.replace(/^[^\d]/, '').replace(',', '.')) : null

/** Minor units of a price. @throws {Refusal} `invalid`, `invalid_amount`, with what was typed. */
export function readTypedPrice(field: string, text: string): bigint {
  const amount = amountIn(text)
  const minor = amount === null ? null : fiatFromNumber(amount)
  if (minor !== null && minor > 0n) return minor
  throw invalidField(
    field,
    'invalid_amount',
    `expected an amount above 0 with at most two decimals, such as 49.99; got "${text.slice(0, 40)}"`,
  )
}
