/** A payment with all its deposits and the chain's height: what retrieval, events and pages are drawn from. */

import { findChainProgress } from '../../chains/chain-progress.sql.ts'
import type { AccountId, PaymentId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { listDeposits } from '../../deposits/deposits.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import { type PaymentResource, paymentResource } from '../../payments/payment-resource.ts'
import { findPayment } from '../../payments/payments.sql.ts'
import { requireAuthenticTerms } from '../../payments/terms.ts'
import type { Gateway } from '../gateway.ts'

/** Null when this account has no such payment. */
export async function readPayment(
  gateway: Pick<Gateway, 'secrets'>,
  db: Queryable,
  accountId: AccountId,
  id: PaymentId,
): Promise<PaymentResource | null> {
  const payment = await findPayment(db, accountId, id)
  return payment && drawPayment(gateway, db, payment)
}

/** @throws {TamperedRow} when the row says other terms than it was made with: nobody is shown another address or amount. */
export async function drawPayment(
  { secrets }: Pick<Gateway, 'secrets'>,
  db: Queryable,
  payment: Payment,
): Promise<PaymentResource> {
  requireAuthenticTerms(secrets, payment)
  const deposits = await listDeposits(db, payment.accountId, payment.id)
  const chain = await findChainProgress(db, payment.chain)
  return paymentResource(payment, deposits, chain?.tipHeight ?? 0)
}
