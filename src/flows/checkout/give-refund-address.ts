/** The buyer of a payment that holds coins says where they may go back to; the merchant decides whether they do. */
import { macOfRefundAddress } from '../../checkout/refund-address.ts'
import { sessionNotFound } from '../../checkout/session.ts'
import { lockSession, setRefundAddress } from '../../checkout/sessions.sql.ts'
import { Refusal } from '../../core/errors.ts'
import type { SessionId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import type { PaymentStatus } from '../../payments/payment.ts'
import { findPayment } from '../../payments/payments.sql.ts'
import { findRefund } from '../../withdrawals/refunds.sql.ts'
import type { Gateway } from '../gateway.ts'
import { requirePayable } from '../withdrawals/request-withdrawal.ts'

/** Of payments that may hold something. */
const HOLDING: readonly PaymentStatus[] = ['underpaid', 'overpaid', 'expired', 'failed', 'cancelled']

/**
 * Only who has the session's page may: no mail, and no merchant's form, speaks for the buyer here.
 *
 * @throws {Refusal} `not_found`, `session_not_found`; `conflict`, `nothing_to_refund`, and `already_refunded`; `invalid`,
 *   `invalid_address`, for what is no address of the payment's coin, or one of this gateway.
 */
export async function giveRefundAddress(
  gateway: Gateway,
  tx: Tx,
  id: SessionId,
  address: string,
): Promise<void> {
  const found = await lockSession(tx, id)
  if (!found) throw sessionNotFound()
  const { session } = found
  const payment = session.paymentId && (await findPayment(tx, session.accountId, session.paymentId))
  if (!payment || !HOLDING.includes(payment.status))
    throw new Refusal('conflict', 'nothing_to_refund', 'nothing is held for this checkout')
  if (await findRefund(tx, payment.accountId, payment.id))
    throw new Refusal('conflict', 'already_refunded', 'the refund of this payment is on its way')
  const { destination } = await requirePayable(gateway, tx, payment.asset, payment.chain, address)
  const given = { ...session, refundAddress: destination.address }
  await setRefundAddress(tx, session, destination.address, macOfRefundAddress(gateway.secrets, given))
}
