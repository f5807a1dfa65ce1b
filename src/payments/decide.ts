/**
 * What a payment becomes next: one pure step, given what the chain showed. The flow that calls it books
 * deposits that reached their confirmations first, applies the step in the same transaction, and asks again until
 * there is no step left.
 */
import type { Asset } from '../core/assets.ts'
import type { Deposit } from '../deposits/deposit.ts'
import { isInTime, isReceived, paysFor } from '../deposits/received.ts'
import type { PaymentStatus } from './payment.ts'

/** What `decide` needs to know of a deposit; deposits of any asset and of any size may be among them. */
export type DecidedDeposit = Pick<Deposit, 'asset' | 'amountAtoms' | 'status' | 'seenAt' | 'late' | 'dust'>

export interface DecidedPayment {
  readonly status: PaymentStatus
  readonly asset: Asset
  readonly dueAtoms: bigint
  /** How much less than that still pays, once nothing more is on its way. */
  readonly toleratedAtoms: bigint
  readonly expiresAt: Date
  /** Settlements so far, reversed ones included. */
  readonly settlements: number
  /** Atoms the present settlement took from the held funds, fee included; null while not settled. */
  readonly settledAtoms: bigint | null
  /** Atoms, fee included, that it was settled with once support had accepted what it held; null when nothing was. */
  readonly acceptedAtoms: bigint | null
  /** Atoms of the asset that refunds took from the held funds, done or under way: they cover nothing any more. */
  readonly refundedAtoms: bigint
  /** Made by a checkout whose buyer may have left it for another coin: cancelled, it can still be what he pays. */
  readonly isOfCheckout: boolean
}

export interface ChainMoment {
  /** When the last complete look at the chain began; null before the first, and while coins may have come that it did not show. */
  readonly polledAt: Date | null
  /** The database's clock. */
  readonly now: Date
}

export type Step =
  | { readonly to: 'detected'; readonly because: 'funds_seen'; readonly detectedAt: Date }
  /** To be taken only when the checkout is not paid, or being paid, by another of its payments. */
  | { readonly to: 'detected'; readonly because: 'left_and_paid'; readonly detectedAt: Date }
  | { readonly to: 'detected'; readonly because: 'top_up_seen' | 'block_lost' | 'settlement_lost' }
  | { readonly to: 'pending'; readonly because: 'every_deposit_replaced' }
  | { readonly to: 'failed'; readonly because: 'every_deposit_replaced' }
  | { readonly to: 'expired'; readonly because: 'window_over' }
  /** `settledAtoms`: what is credited, fee included; below what is due by no more than is tolerated. */
  | { readonly to: 'completed' | 'overpaid'; readonly because: 'covered'; readonly settledAtoms: bigint }
  | { readonly to: 'completed'; readonly because: 'excess_lost' }
  | { readonly to: 'overpaid'; readonly because: 'further_deposit' }
  | { readonly to: 'underpaid'; readonly because: 'too_little' }

/** The next step, or null when the payment stays what it is. */
export function decide(
  payment: DecidedPayment,
  deposits: readonly DecidedDeposit[],
  moment: ChainMoment,
): Step | null {
  const paying = deposits.filter((deposit) => paysFor(deposit, payment))
  const received = paying.filter((deposit) => isInTime(deposit, payment))
  const confirmedAtoms =
    sum(received.filter((deposit) => deposit.status === 'confirmed')) - payment.refundedAtoms
  const allConfirmed = received.every((deposit) => deposit.status === 'confirmed')
  const settledAtoms = coveredAtoms(payment, {
    confirmedAtoms,
    receivedAtoms: sum(received) - payment.refundedAtoms,
    allConfirmed,
  })

  const isEnough = sum(received) - payment.refundedAtoms >= payment.dueAtoms - payment.toleratedAtoms
  // A crumb that is never mined would keep support from deciding about the rest for good.
  const waitsForMore = !allConfirmed && (isEnough || !isLeftToSupport(payment, paying, moment))

  switch (payment.status) {
    case 'pending':
      if (received.length > 0)
        return { to: 'detected', because: 'funds_seen', detectedAt: earliest(received) }
      return windowIsOver(payment, moment) ? { to: 'expired', because: 'window_over' } : null

    case 'detected':
      if (received.length === 0) return withoutFunds(payment, moment)
      if (settledAtoms !== null)
        return {
          to: confirmedAtoms > settledAtoms ? 'overpaid' : 'completed',
          because: 'covered',
          settledAtoms,
        }
      return waitsForMore ? null : { to: 'underpaid', because: 'too_little' }

    case 'underpaid':
      if (received.length === 0) return { to: 'detected', because: 'block_lost' }
      if (!waitsForMore && settledAtoms === null) return null
      return {
        to: 'detected',
        because: received.some((deposit) => deposit.status === 'reorganised') ? 'block_lost' : 'top_up_seen',
      }

    case 'completed':
    case 'overpaid': {
      const settled = payment.settledAtoms ?? payment.dueAtoms
      const confirmed = sum(paying.filter((deposit) => deposit.status === 'confirmed'))
      if (confirmed < settled) return { to: 'detected', because: 'settlement_lost' }
      if (payment.status === 'completed' && confirmed - payment.refundedAtoms > settled)
        return { to: 'overpaid', because: 'further_deposit' }
      if (payment.status === 'overpaid' && confirmed === settled)
        return { to: 'completed', because: 'excess_lost' }
      return null
    }

    // A coin that was left was paid all the same, in time and in full: that is the payment.
    case 'cancelled': {
      if (!payment.isOfCheckout || received.length === 0 || !isEnough) return null
      return { to: 'detected', because: 'left_and_paid', detectedAt: earliest(received) }
    }

    // Whatever arrives now is held until support decides.
    case 'expired':
    case 'failed':
      return null
  }
}

interface Came {
  /** Confirmed, and of what may still confirm; less what was refunded. */
  readonly confirmedAtoms: bigint
  readonly receivedAtoms: bigint
  /** Nothing more is on its way. */
  readonly allConfirmed: boolean
}

/** What confirmed deposits settle a payment at; null while they do not cover it, or what would make it whole is on its way. */
function coveredAtoms(
  { dueAtoms, toleratedAtoms, acceptedAtoms }: DecidedPayment,
  { confirmedAtoms, receivedAtoms, allConfirmed }: Came,
): bigint | null {
  // A reorganisation took what was accepted: the merchant was told of that, so it is what settles again while it can come back.
  if (acceptedAtoms !== null && receivedAtoms >= acceptedAtoms)
    return confirmedAtoms >= acceptedAtoms ? acceptedAtoms : null
  if (confirmedAtoms >= dueAtoms) return dueAtoms
  return allConfirmed && confirmedAtoms >= dueAtoms - toleratedAtoms ? confirmedAtoms : null
}

/** Nothing more can come in time, and coins are there that somebody may decide about. What was settled before waits to be so again. */
const isLeftToSupport = (
  payment: DecidedPayment,
  paying: readonly DecidedDeposit[],
  moment: ChainMoment,
): boolean =>
  payment.settlements === 0 &&
  windowIsOver(payment, moment) &&
  paying.some((deposit) => deposit.status === 'confirmed')

/** Whether a buyer or merchant may still cancel: nothing was seen yet. */
export function mayCancel(
  payment: Pick<DecidedPayment, 'status'>,
  deposits: readonly DecidedDeposit[],
): boolean {
  return payment.status === 'pending' && !deposits.some(isReceived)
}

/** Whether coins came, or may still come, that this payment was for; in time or late. */
export const hasFunds = (
  payment: Pick<DecidedPayment, 'asset'>,
  deposits: readonly DecidedDeposit[],
): boolean => deposits.some((deposit) => paysFor(deposit, payment))

function withoutFunds(payment: DecidedPayment, moment: ChainMoment): Step | null {
  // The merchant was told that this was paid: no quote is given back, the payment ends.
  if (payment.settlements > 0) return { to: 'failed', because: 'every_deposit_replaced' }
  if (moment.now <= payment.expiresAt) return { to: 'pending', because: 'every_deposit_replaced' }
  return windowIsOver(payment, moment) ? { to: 'failed', because: 'every_deposit_replaced' } : null
}

/** Never while blind: the chain must have been looked at after the window's end. */
const windowIsOver = (payment: DecidedPayment, moment: ChainMoment): boolean =>
  moment.now > payment.expiresAt && moment.polledAt !== null && moment.polledAt > payment.expiresAt

const sum = (deposits: readonly DecidedDeposit[]): bigint =>
  deposits.reduce((total, deposit) => total + deposit.amountAtoms, 0n)

const earliest = (deposits: readonly DecidedDeposit[]): Date =>
  deposits.reduce(
    (first, deposit) => (deposit.seenAt < first ? deposit.seenAt : first),
    deposits[0]?.seenAt ?? new Date(0),
  )
