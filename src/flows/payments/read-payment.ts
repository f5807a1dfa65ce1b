/** A payment with all its deposits and the chain's height: what retrieval, events and pages are drawn from. */

import { type ChainProgress, findChainProgress } from '../../chains/chain-progress.sql.ts'
import { readRefundAddress } from '../../checkout/refund-address.ts'
import { findSession } from '../../checkout/sessions.sql.ts'
import type { ChainName } from '../../core/assets.ts'
import type { AccountId, PaymentId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { listDeposits } from '../../deposits/deposits.sql.ts'
import { type Payment, takesRefundAddress } from '../../payments/payment.ts'
import { type ChainFacts, type PaymentResource, paymentResource } from '../../payments/payment-resource.ts'
import { findPayment } from '../../payments/payments.sql.ts'
import { requireAuthenticTerms } from '../../payments/terms.ts'
import { readRefunds } from '../../withdrawals/refunds.sql.ts'
import type { Gateway, GatewaySettings } from '../gateway.ts'

/** Null when this account has no such payment. */
export async function readPayment(
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  db: Queryable,
  accountId: AccountId,
  id: PaymentId,
): Promise<PaymentResource | null> {
  const payment = await findPayment(db, accountId, id)
  return payment && drawPayment(gateway, db, payment)
}

/** @throws {TamperedRow} when the row says other terms than it was made with: nobody is shown another address or amount. */
export async function drawPayment(
  { secrets, settings }: Pick<Gateway, 'secrets' | 'settings'>,
  db: Queryable,
  payment: Payment,
): Promise<PaymentResource> {
  requireAuthenticTerms(secrets, payment)
  const deposits = await listDeposits(db, payment.accountId, payment.id)
  const chain = await findChainProgress(db, payment.chain)
  const { checkoutSessionId: sessionId } = payment
  const session =
    sessionId && takesRefundAddress(payment.status)
      ? await findSession(db, payment.accountId, sessionId)
      : null
  const refundAddress =
    session?.session.paymentId === payment.id ? readRefundAddress(secrets, session.session) : null
  const refundedAtoms = payment.status === 'underpaid' ? (await readRefunds(db, payment)).refundedAtoms : 0n
  const facts = chainFactsOf(settings, payment.chain, chain)
  return paymentResource(payment, deposits, facts, { refundAddress, refundedAtoms })
}

/** @param view - Of that chain; null when it was never seen, or need not be. */
export const chainFactsOf = (
  { tokens }: Pick<GatewaySettings, 'tokens'>,
  chain: ChainName,
  view: ChainProgress | null,
): ChainFacts => ({ tipHeight: view?.tipHeight ?? 0, evmChainId: evmChainIdOf(chain, view), tokens })

/** The identity of an Ethereum is `<chain id>:<hash of block 0>`; no wallet knows the simulated one. */
function evmChainIdOf(chain: ChainName, view: ChainProgress | null): number | null {
  const id = chain === 'ethereum' ? /^(\d{1,15}):/.exec(view?.identity ?? '')?.[1] : undefined
  return id === undefined ? null : Number(id)
}
