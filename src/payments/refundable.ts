/** What of the funds that are held for a payment may go back to its buyer. */
import type { Payment } from './payment.ts'
import type { HeldFunds } from './unresolved-funds.sql.ts'

/**
 * What a refund takes: the payment's own coin, or where none of it is refundable another one that came. Of its own coin only what
 * is held beyond the shortfall: so much of it the merchant had and withdrew, before a reorganisation took it. Sent back as well,
 * one coin would be given to two.
 *
 * @param held - Of the payment, by asset.
 * @returns At least an atom; null when nothing may go back.
 */
export function refundable(
  { asset, shortfallAtoms }: Pick<Payment, 'asset' | 'shortfallAtoms'>,
  held: readonly HeldFunds[],
): HeldFunds | null {
  const own = held.find((funds) => funds.asset === asset)
  if (own && own.atoms > shortfallAtoms) return { asset, atoms: own.atoms - shortfallAtoms }
  return held.find((funds) => funds.asset !== asset) ?? null
}
