import { ASSET_FACTS, type Asset } from '../core/assets.ts'
import { invalidField } from '../core/errors.ts'
import { parseDecimal } from '../core/money.ts'

/**
 * Reads an amount of a coin as the API takes it: a decimal string. Nothing is rounded.
 *
 * @throws {Refusal} `invalid`, reason `invalid_amount`, on the field `amount`.
 */
export function readAmount(asset: Asset, text: string): bigint {
  const { decimals } = ASSET_FACTS[asset]
  const atoms = parseDecimal(text, decimals)
  if (atoms !== null && atoms > 0n && atoms < 10n ** 60n) return atoms
  throw invalidField(
    'amount',
    'invalid_amount',
    `amount must be a decimal of ${asset} above 0 with at most ${decimals} decimals, such as "0.015"; got ${JSON.stringify(text.slice(0, 80))}`,
  )
}
