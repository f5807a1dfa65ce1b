/** A checkout session: a price, or the question for one, that a buyer turns into a payment by picking a coin. */

import type { Asset, Fiat } from '../core/assets.ts'
import { notFound, type Refusal } from '../core/errors.ts'
import type { AccountId, PaymentId, PaymentLinkId, PointOfSaleId, SessionId } from '../core/ids.ts'
import { DAY_MS } from '../core/time.ts'

/** How long a session stays open without a coin, and after the last one. */
export const SESSION_WINDOW_MS = DAY_MS

export interface CheckoutSession {
  readonly accountId: AccountId
  readonly id: SessionId
  /** Null when the buyer is asked for an amount. */
  readonly amountMinor: bigint | null
  readonly currency: Fiat
  readonly label: string | null
  readonly reference: string | null
  readonly customerEmail: string | null
  /** Null when the account's own counts. */
  readonly successUrl: string | null
  readonly cancelUrl: string | null
  /** Coins the buyer may pick of those that the account offers; null for all of them. */
  readonly offeredAssets: readonly Asset[] | null
  readonly paymentLinkId: PaymentLinkId | null
  /** The counter it was sold at; null for none. */
  readonly pointOfSaleId: PointOfSaleId | null
  /** Of the coin picked last, or of an earlier one that turned out to be what the buyer pays. */
  readonly paymentId: PaymentId | null
  /** The transaction that the buyer's wallet said it sent for that payment. */
  readonly sentTx: string | null
  /** Where the buyer wants coins back that are held for that payment; of `readRefundAddress`. */
  readonly refundAddress: string | null
  readonly refundAddressMac: Uint8Array | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly cancelledAt: Date | null
}

export const SESSION_STATUSES = ['open', 'complete', 'expired', 'cancelled'] as const
export type SessionStatus = (typeof SESSION_STATUSES)[number]

/** Also for a session of another account: nobody learns that it exists. */
export const sessionNotFound = (): Refusal =>
  notFound('session_not_found', 'there is no such checkout session')

/** What a session's end depends on, of its present payment. `PaymentStatus` of the payments room fits. */
export type StatusOfPayment =
  | 'pending'
  | 'detected'
  | 'completed'
  | 'overpaid'
  | 'underpaid'
  | 'expired'
  | 'failed'
  | 'cancelled'

/**
 * Where a session stands. It follows its payment: complete while that is, open while that may still be paid, and
 * otherwise open until the window is over.
 *
 * @param payment - Status of the session's present payment; null while no coin was picked.
 * @param now - The database's clock.
 */
export function sessionStatus(
  session: Pick<CheckoutSession, 'cancelledAt' | 'expiresAt'>,
  payment: StatusOfPayment | null,
  now: Date,
): SessionStatus {
  switch (payment) {
    case 'completed':
    case 'overpaid':
      return 'complete'
    case 'detected':
    case 'underpaid':
      return 'open'
    case 'pending':
      return session.cancelledAt ? 'cancelled' : 'open'
    case 'expired':
    case 'failed':
    case 'cancelled':
    case null:
      if (session.cancelledAt) return 'cancelled'
      return now >= session.expiresAt ? 'expired' : 'open'
  }
}
