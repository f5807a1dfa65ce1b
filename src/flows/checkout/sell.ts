/** A price asked for behind a counter: a session that belongs to its point of sale. */
import { requireOpenAccount } from '../../accounts/closing.sql.ts'
import { holdPointOfSale } from '../../checkout/points-of-sale.sql.ts'
import type { CheckoutSession } from '../../checkout/session.ts'
import { insertSession } from '../../checkout/sessions.sql.ts'
import { notFound } from '../../core/errors.ts'
import type { PointOfSaleId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import type { Gateway } from '../gateway.ts'
import { requireFiatAmount } from '../payments/fiat-amount.ts'

/**
 * @param label - What is sold; the buyer reads it. Null for nothing.
 * @throws {Refusal} `not_found`, `point_of_sale_not_found`, when there is none or it was revoked; `unprocessable` for a price
 *   that this gateway does not take; `forbidden`, `account_closed`.
 */
export async function sellAt(
  { settings }: Pick<Gateway, 'settings'>,
  tx: Tx,
  id: PointOfSaleId,
  { amountMinor, label }: { readonly amountMinor: bigint; readonly label: string | null },
): Promise<CheckoutSession> {
  const point = await holdPointOfSale(tx, id)
  if (!point || point.revokedAt) throw notFound('point_of_sale_not_found', 'there is no such point of sale')
  const { accountId, currency } = point
  await requireOpenAccount(tx, accountId)
  requireFiatAmount(settings, { fiatMinor: amountMinor, currency }, 'amount')
  return insertSession(tx, { accountId, amountMinor, currency, label, pointOfSaleId: id })
}
