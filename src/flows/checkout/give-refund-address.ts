/** The buyer of a payment that holds coins says where they may go back to; the merchant decides whether they do. */
import {
  isGiver,
  macOfRefundAddress,
  proofOfGiver,
  readRefundAddress,
} from '../../checkout/refund-address.ts'
import { sessionNotFound } from '../../checkout/session.ts'
import { lockSession, setRefundAddress } from '../../checkout/sessions.sql.ts'
import { conflict } from '../../core/errors.ts'
import type { SessionId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { takesRefundAddress } from '../../payments/payment.ts'
import { findPayment } from '../../payments/payments.sql.ts'
import { requireAuthenticTerms } from '../../payments/terms.ts'
import { findRefund } from '../../withdrawals/refunds.sql.ts'
import type { Gateway } from '../gateway.ts'
import { requirePayable } from '../withdrawals/payable-destination.ts'

/**
 * Only who has the session's page may: no mail, and no merchant's form, speaks for the buyer here. The page's address lies in
 * the database, so what was given is changed by the browser that gave it alone.
 *
 * @param proof - What that browser keeps since; empty when it gave none.
 * @returns What this browser is to keep; null for an address that another one gave already.
 * @throws {Refusal} `not_found`, `session_not_found`; `conflict`, `nothing_to_refund`, `already_refunded`, and
 *   `refund_address_given`, by another browser; `invalid`, `invalid_address`, for what is no address of the payment's coin,
 *   or one of this gateway.
 * @throws {TamperedRow} when the payment was not made in this session.
 */
export async function giveRefundAddress(
  gateway: Gateway,
  tx: Tx,
  id: SessionId,
  { address, proof }: { readonly address: string; readonly proof: string },
): Promise<string | null> {
  const { secrets } = gateway
  const found = await lockSession(tx, id)
  if (!found) throw sessionNotFound()
  const { session } = found
  const payment = session.paymentId && (await findPayment(tx, session.accountId, session.paymentId))
  if (!payment || payment.checkoutSessionId !== session.id || !takesRefundAddress(payment.status))
    throw conflict('nothing_to_refund', 'nothing is held for this checkout')
  requireAuthenticTerms(secrets, payment)
  if (await findRefund(tx, payment.accountId, payment.id))
    throw conflict('already_refunded', 'the refund of this payment is on its way')
  const { destination } = await requirePayable(gateway, tx, payment.asset, payment.chain, address)
  const earlier = readRefundAddress(secrets, session)
  if (earlier !== null && !isGiver(secrets, session, proof)) {
    if (earlier === destination.address) return null
    throw conflict(
      'refund_address_given',
      'only the browser that gave the address for a refund can change it',
    )
  }
  const given = { ...session, refundAddress: destination.address }
  await setRefundAddress(tx, session, destination.address, macOfRefundAddress(secrets, given))
  return proofOfGiver(secrets, given)
}
