/** The one state that a checkout's page shows. */
import { notBelowZero } from '../../core/money.ts'
import type { CheckoutMoment } from './checkout-moments.sql.ts'

/**
 * `sent`: the buyer's wallet sent it, and the network has not shown it yet. `lower_over`: too little came and the time is up. `ending`: the time is up, the chain is looked at once more.
 * `refunded`: what was held was sent back.
 */
export const CHECKOUT_STATES = [
  'choose',
  'waiting',
  'sent',
  'ending',
  'seen',
  'confirming',
  'lower',
  'lower_over',
  'paid',
  'higher',
  'expired',
  'late',
  'refunded',
  'replaced',
  'cancelled',
  'ended',
] as const
export type CheckoutState = (typeof CHECKOUT_STATES)[number]

/** Those in which coins are or were held that the buyer may want back: only there is a refund looked for. */
export const HELD_STATES: readonly CheckoutState[] = ['late', 'lower_over', 'higher', 'refunded']

/** Whether the buyer may take another coin than he has taken. */
export const takesOtherCoin = (state: CheckoutState): boolean =>
  ['choose', 'waiting', 'expired', 'replaced'].includes(state)

/** What came in time and was not sent back. */
export const keptAtoms = ({
  receivedAtoms,
  refundedAtoms,
}: Pick<CheckoutMoment, 'receivedAtoms' | 'refundedAtoms'>): bigint =>
  notBelowZero(receivedAtoms - refundedAtoms)

export function checkoutState(moment: Omit<CheckoutMoment, 'sessionId' | 'version'>): CheckoutState {
  const enough = moment.enoughAtoms ?? 0n
  const kept = keptAtoms(moment)
  switch (moment.paymentStatus) {
    case 'completed':
      return 'paid'
    case 'overpaid':
      return 'higher'
    case 'detected':
    case 'underpaid':
      // What came was withdrawn, and the decision about it is about to fall.
      if (moment.receivedAtoms === 0n) return moment.isWindowOver ? 'ending' : 'waiting'
      if (kept < enough) {
        // Nobody who was sent his coins back is asked for a rest; it would be the whole price.
        if (moment.isRefunded) return 'refunded'
        if (!moment.isWindowOver) return 'lower'
        // The rest came, but after the time.
        return kept + moment.lateAtoms < enough ? 'lower_over' : 'late'
      }
      return moment.confirmations === 0 ? 'seen' : 'confirming'
    case 'pending':
      if (moment.isSessionCancelled) return 'cancelled'
      if (moment.isSent) return 'sent'
      return moment.isWindowOver ? 'ending' : 'waiting'
    case 'expired':
    case 'failed':
    case 'cancelled':
      // Whatever still reaches a payment that ended is held until support decides.
      if (moment.lateAtoms + moment.receivedAtoms > 0n) return moment.isRefunded ? 'refunded' : 'late'
      if (moment.isSessionCancelled) return 'cancelled'
      if (moment.isSessionOver) return 'ended'
      if (moment.isSent && moment.paymentStatus === 'expired') return 'sent'
      return moment.paymentStatus === 'cancelled'
        ? 'choose'
        : moment.paymentStatus === 'failed' || moment.isWithdrawn
          ? 'replaced'
          : 'expired'
    case null:
      if (moment.isSessionCancelled) return 'cancelled'
      return moment.isSessionOver ? 'ended' : 'choose'
  }
}
