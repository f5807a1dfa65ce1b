/** The buyer or the merchant gives a payment up before anything was seen. Its address stays watched. */
import { conflict } from '../../core/errors.ts'
import type { AccountId, PaymentId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { listDeposits } from '../../deposits/deposits.sql.ts'
import { mayCancel } from '../../payments/decide.ts'
import { type Payment, paymentNotFound } from '../../payments/payment.ts'
import { lockPayment, updatePayment } from '../../payments/payments.sql.ts'

/** @throws {Refusal} `not_found`; `conflict` when funds were seen or the payment ended. */
export async function cancelPayment(tx: Tx, accountId: AccountId, id: PaymentId): Promise<Payment> {
  const payment = await lockPayment(tx, accountId, id)
  if (!payment) throw paymentNotFound()
  if (!mayCancel(payment, await listDeposits(tx, accountId, id))) {
    throw conflict(
      'payment_not_cancellable',
      `only a pending payment without funds can be cancelled; this one is ${payment.status}`,
    )
  }
  const cancelled: Payment = { ...payment, status: 'cancelled' }
  await updatePayment(tx, cancelled)
  return cancelled
}
