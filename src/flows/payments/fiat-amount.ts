/** The prices this gateway takes. */
import type { Fiat } from '../../core/assets.ts'
import { unprocessable } from '../../core/errors.ts'
import { fiatToNumber } from '../../core/money.ts'
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
