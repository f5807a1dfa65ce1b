/** All that a page of the checkout is drawn from, and nothing else. */

import { findChainProgress } from '../../chains/chain-progress.sql.ts'
import { ASSET_FACTS } from '../../core/assets.ts'
import type { SessionId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import type { PaymentResource } from '../../payments/payment-resource.ts'
import type { Gateway } from '../gateway.ts'
import { drawPayment } from '../payments/read-payment.ts'
import { type Checkout, readCheckout } from './checkout.ts'
import {
  type CheckoutMoment,
  changedMoments,
  type EarlierFunds,
  readEarlierFunds,
} from './checkout-moments.sql.ts'
import { type CheckoutState, checkoutState } from './checkout-state.ts'

export interface CheckoutPage {
  readonly state: CheckoutState
  readonly moment: CheckoutMoment
  readonly checkout: Checkout
  readonly view: PaymentResource | null
  readonly earlier: readonly EarlierFunds[]
  /** Of the payment's chain, where it is an Ethereum that wallets know; null elsewhere. */
  readonly evmChainId: number | null
}

/**
 * Null when there is no such session. The moment is read first: a page drawn from what came after it hears of the
 * difference at once.
 *
 * @throws {TamperedRow} when the payment is not as it was made: it is never shown then.
 */
export async function readCheckoutPage(
  gateway: Pick<Gateway, 'secrets'>,
  db: Queryable,
  id: SessionId,
): Promise<CheckoutPage | null> {
  const [moment] = await changedMoments(db, [{ id, version: null }])
  const checkout = moment && (await readCheckout(db, id))
  if (!checkout) return null
  const { payment } = checkout
  const earlier = moment.hasEarlierFunds ? await readEarlierFunds(db, id) : []
  const page = { state: checkoutState(moment), moment, checkout, earlier }
  if (!payment) return { ...page, view: null, evmChainId: null }

  return {
    ...page,
    view: await drawPayment(gateway, db, payment),
    evmChainId: await evmChainIdOf(db, checkout),
  }
}

/** The identity of an Ethereum is `<chain id>:<hash of block 0>`; no wallet knows the simulated one. */
async function evmChainIdOf(db: Queryable, { account, payment }: Checkout): Promise<number | null> {
  if (!payment || account.mode === 'test' || ASSET_FACTS[payment.asset].network !== 'ethereum') return null
  const id = /^(\d{1,15}):/.exec((await findChainProgress(db, payment.chain))?.identity ?? '')?.[1]
  return id === undefined ? null : Number(id)
}
