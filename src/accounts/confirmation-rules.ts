/** How many confirmations a merchant waits for where much is at stake, beside what the operator set for all. */
import { ASSETS, isAsset } from '../core/assets.ts'
import { invalidField } from '../core/errors.ts'
import { FIAT_DECIMALS, parseDecimal } from '../core/money.ts'
import type { ConfirmationRule } from './account.ts'

/** As it was typed. */
export interface ConfirmationChoice {
  readonly asset: string
  /** In the settlement currency, such as 1000. */
  readonly from: string
  readonly confirmations: string
  /** How many of the coin are waited for without a rule. */
  readonly usual: number
}

/** A day of Bitcoin's blocks: whoever waits longer for one payment has mistyped. */
export const CONFIRMATIONS_MAX = 144

/** @throws {Refusal} `invalid_confirmations`, naming the coin; so too for a rule that would ask for no more than usual. */
export function readConfirmationRules(choices: readonly ConfirmationChoice[]): ConfirmationRule[] {
  return choices
    .map(({ asset, from, confirmations, usual }) => {
      const fromMinor = parseDecimal(from, FIAT_DECIMALS)
      const count = /^\d{1,3}$/.test(confirmations) ? Number(confirmations) : 0
      if (
        isAsset(asset) &&
        fromMinor !== null &&
        fromMinor >= 0n &&
        count > usual &&
        count <= CONFIRMATIONS_MAX
      )
        return { asset, fromMinor, confirmations: count }
      throw invalidField(
        `confirmations_${asset}`,
        'invalid_confirmations',
        `expected a price such as 1000 from which on ${usual + 1} to ${CONFIRMATIONS_MAX} confirmations of ${asset} are waited for; ${usual} are for every payment`,
      )
    })
    .sort((a, b) => ASSETS.indexOf(a.asset) - ASSETS.indexOf(b.asset))
}
