/**
 * A checkout is paid with any of its coins, whatever the buyer looks at now: when the payment of a coin that he left turns
 * out to be the one he pays, it is the session's again, and the coin he looks at is given up.
 *
 * Locks the session behind the payment, where picking a coin locks the session's payment behind the session, but only one that was
 * pending a moment before. A payment that is returned to, or accepted, was not. So the two wait for each other only when
 * the merchant cancels a payment and its coins come within that moment, or when the present payment and one that was left are
 * settled in one transaction. Then PostgreSQL ends one of them, and it is tried again from its beginning (db/database.ts).
 */
import { lockSession, setPresentPayment } from '../../checkout/sessions.sql.ts'
import { Refusal } from '../../core/errors.ts'
import type { Tx } from '../../db/database.ts'
import { listDeposits } from '../../deposits/deposits.sql.ts'
import { hasFunds } from '../../payments/decide.ts'
import type { Payment } from '../../payments/payment.ts'
import { findPayment } from '../../payments/payments.sql.ts'
import { cancelPayment } from '../payments/cancel-payment.ts'

/**
 * Coins came in time to a payment that was cancelled.
 *
 * @param payment - Locked.
 * @returns Whether it is the session's payment now. Not so when it was never left (the merchant cancelled it, or the buyer
 *   gave up), and when funds came to the present one.
 */
export async function returnToPayment(tx: Tx, payment: Payment): Promise<boolean> {
  const { checkoutSessionId: id } = payment
  const found = id && (await lockSession(tx, id))
  if (!found) return false
  const { session } = found
  if (session.cancelledAt || session.paymentId === payment.id || session.paymentId === null) return false
  const present = await findPayment(tx, session.accountId, session.paymentId)
  if (present && !(await isGivenUp(tx, present))) return false
  await setPresentPayment(tx, session, payment.id)
  return true
}

/** Support accepted what was held for a payment, perhaps for one that the buyer had left: the session is paid by it. */
export async function followPaid(tx: Tx, payment: Payment): Promise<void> {
  const { checkoutSessionId: id } = payment
  const found = id && (await lockSession(tx, id))
  if (!found || found.session.paymentId === payment.id || found.session.paymentId === null) return
  const { session } = found
  const present = await findPayment(tx, session.accountId, found.session.paymentId)
  if (!present || (await isGivenUp(tx, present))) await setPresentPayment(tx, session, payment.id)
}

/** Whether nobody pays it: it ended without funds, or is cancelled now. */
async function isGivenUp(tx: Tx, present: Payment): Promise<boolean> {
  switch (present.status) {
    case 'detected':
    case 'underpaid':
    case 'completed':
    case 'overpaid':
      return false
    case 'expired':
    case 'failed':
    case 'cancelled':
      return !hasFunds(present, await listDeposits(tx, present.accountId, present.id))
    case 'pending':
      return giveUpPending(tx, present)
  }
}

/** @returns Whether it is cancelled now: not so when funds came meanwhile. */
export async function giveUpPending(tx: Tx, { accountId, id }: Payment): Promise<boolean> {
  try {
    await cancelPayment(tx, accountId, id)
    return true
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'payment_not_cancellable') return false
    throw error
  }
}
