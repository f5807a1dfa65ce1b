/** The prices this gateway takes. */
import { ASSET_FACTS, type Asset, type Fiat } from '../../core/assets.ts'
import { unprocessable } from '../../core/errors.ts'
import { fiatToNumber, formatCoins } from '../../core/money.ts'
import type { GatewaySettings } from '../gateway.ts'

/** @throws {Refusal} `unprocessable` below the least and above the largest price, naming the field. */
export function requireFiatAmount(
  settings: Pick<GatewaySettings, 'minFiatMinor' | 'maxFiatMinor'>,
  price: { readonly fiatMinor: bigint; readonly currency: Fiat },
  field: string,
): void {
  const shown = (minor: bigint) => `${fiatToNumber(minor)} ${price.currency}`
  if (price.fiatMinor < settings.minFiatMinor) {
    const message = `the least payment is ${shown(settings.minFiatMinor)}, got ${shown(price.fiatMinor)}`
    throw unprocessable('amount_below_minimum', message, [{ field, message }])
  }
  if (price.fiatMinor > settings.maxFiatMinor) {
    const message = `the largest payment is ${shown(settings.maxFiatMinor)}, got ${shown(price.fiatMinor)}`
    throw unprocessable('amount_above_maximum', message, [{ field, message }])
  }
}

/** Nobody can send so little, and as a deposit it would move nothing. */
export const isDust = (atoms: bigint, asset: Asset): boolean => atoms < ASSET_FACTS[asset].dustAtoms

/** @throws {Refusal} `unprocessable` where what is due is dust of its coin, naming the field. */
export function requireSendable(dueAtoms: bigint, asset: Asset, field: string): void {
  if (!isDust(dueAtoms, asset)) return
  const least = formatCoins(ASSET_FACTS[asset].dustAtoms, asset)
  const message = `the least payment is worth ${least} at the rate of now, this one ${formatCoins(dueAtoms, asset)}; ask for more, or for another coin`
  throw unprocessable('amount_below_minimum', message, [{ field, message }])
}
