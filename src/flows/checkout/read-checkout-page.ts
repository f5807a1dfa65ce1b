/** All that a page of the checkout is drawn from, and nothing else. */

import { findChainProgress } from '../../chains/chain-progress.sql.ts'
import type { SessionId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import type { PaymentResource } from '../../payments/payment-resource.ts'
import type { EthereumPlace } from '../../payments/payment-uri.ts'
import { findRefund } from '../../withdrawals/refunds.sql.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import type { Gateway } from '../gateway.ts'
import { chainFactsOf, drawPayment } from '../payments/read-payment.ts'
import { type Checkout, readCheckout } from './checkout.ts'
import {
  type CheckoutMoment,
  changedMoments,
  type EarlierFunds,
  readEarlierFunds,
} from './checkout-moments.sql.ts'
import { type CheckoutState, checkoutState, HELD_STATES } from './checkout-state.ts'
import { findReceiptMail, type ReceiptMail } from './mail-receipt.ts'

export interface CheckoutPage {
  readonly state: CheckoutState
  readonly moment: CheckoutMoment
  readonly checkout: Checkout
  readonly view: PaymentResource | null
  readonly earlier: readonly EarlierFunds[]
  /** Of the payment, requested or sent; null while there is none. */
  readonly refund: Withdrawal | null
  /** Null where none can be asked for. */
  readonly receipt: ReceiptMail | null
  /** Where the payment is made: what wallets are asked with. */
  readonly place: EthereumPlace
}

/**
 * Null when there is no such session. The moment is read first: a page drawn from what came after it hears of the
 * difference at once.
 *
 * @throws {TamperedRow} when the payment is not as it was made: it is never shown then.
 */
export async function readCheckoutPage(
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  db: Queryable,
  id: SessionId,
): Promise<CheckoutPage | null> {
  const [moment] = await changedMoments(db, [{ id, version: null }])
  const checkout = moment && (await readCheckout(db, id))
  if (!checkout) return null
  const { payment } = checkout
  const earlier = moment.hasEarlierFunds ? await readEarlierFunds(db, id) : []
  const page = { state: checkoutState(moment), moment, checkout, earlier }
  const { tokens } = gateway.settings
  if (!payment)
    return { ...page, view: null, refund: null, receipt: null, place: { evmChainId: null, tokens } }

  const chain = await findChainProgress(db, payment.chain)
  return {
    ...page,
    view: await drawPayment(gateway, db, payment),
    refund: HELD_STATES.includes(page.state) ? await findRefund(db, payment.accountId, payment.id) : null,
    receipt: await findReceiptMail(gateway, db, checkout),
    place: chainFactsOf(gateway.settings, payment.chain, chain),
  }
}
