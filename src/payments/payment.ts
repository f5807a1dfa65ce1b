/** A payment: what it is. What it becomes is decided in decide.ts. */
import type { Asset, ChainName, Fiat } from '../core/assets.ts'
import { notFound, type Refusal } from '../core/errors.ts'
import type { AccountId, CustomerId, PaymentId, SessionId } from '../core/ids.ts'
import { smaller } from '../core/money.ts'
import type { Ratio } from '../core/ratio.ts'

export const PAYMENT_STATUSES = [
  'pending',
  'detected',
  'completed',
  'overpaid',
  'underpaid',
  'expired',
  'failed',
  'cancelled',
] as const
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]

/** Whether its price is covered. */
export const isPaid = (status: PaymentStatus): boolean => status === 'completed' || status === 'overpaid'

/** Whether it still runs: nothing is decided before its funds came, or its time is over. */
export const waitsForFunds = (status: PaymentStatus): boolean => status === 'pending' || status === 'detected'

/** Whether its buyer may say where what it holds goes back to; of what came after it was completed he may not. */
export const takesRefundAddress = (status: PaymentStatus): boolean =>
  !waitsForFunds(status) && status !== 'completed'

/** All that a payment was credited when support accepted what it held, what had settled it before included. */
export interface Accepted {
  /** Of the payment's own asset. */
  readonly netAtoms: bigint
  readonly feeAtoms: bigint
  /** Of the payment's currency, coins of other assets included. */
  readonly netMinor: bigint
  readonly feeMinor: bigint
}

export const acceptedAtoms = ({ accepted }: Pick<Payment, 'accepted'>): bigint | null =>
  accepted && accepted.netAtoms + accepted.feeAtoms

/** What has to come in all: what is due, or the less that support accepted before a reorganisation took it. */
export function neededAtoms(payment: Pick<Payment, 'dueAtoms' | 'accepted'>): bigint {
  const accepted = acceptedAtoms(payment)
  return accepted === null ? payment.dueAtoms : smaller(accepted, payment.dueAtoms)
}

export interface Payment {
  readonly accountId: AccountId
  readonly id: PaymentId
  readonly status: PaymentStatus
  readonly chain: ChainName
  readonly asset: Asset
  readonly fiatCurrency: Fiat
  /** Minor units; `netMinor + feeMinor = fiatMinor` until an acceptance credits something else. */
  readonly fiatMinor: bigint
  readonly feeMinor: bigint
  readonly netMinor: bigint
  /** The quote's own fee; differs from `feeMinor` once support accepted other funds than were due. */
  readonly quotedFeeMinor: bigint
  /** The gateway's part as it was agreed when the payment was made, in hundredths of a percent. */
  readonly feeBps: bigint
  /** The locked rate: minor units of `fiatCurrency` per whole coin. */
  readonly rate: Ratio
  readonly rateSource: string
  readonly rateAt: Date
  /** Minor units of the account's settlement currency per minor unit of `fiatCurrency`. */
  readonly settlementRate: Ratio
  /** Atoms the buyer has to send. */
  readonly dueAtoms: bigint
  /** How much less than that still pays: the account's tolerance, or what is too small to be sent. */
  readonly toleratedAtoms: bigint
  readonly address: string
  readonly requiredConfirmations: number
  /** Of {@link macOfTerms}. */
  readonly termsMac: Uint8Array
  readonly customerId: CustomerId | null
  readonly customerEmail: string | null
  readonly reference: string | null
  /** JSON text exactly as the merchant gave it. */
  readonly metadata: string | null
  readonly checkoutSessionId: SessionId | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly detectedAt: Date | null
  readonly completedAt: Date | null
  /** What the present settlement credited, and the gateway's fee on it; null while not settled. */
  readonly creditedAtoms: bigint | null
  readonly gatewayFeeAtoms: bigint | null
  /** What reversals could not take back from the merchant, booked to `loss`. */
  readonly shortfallAtoms: bigint
  /** How much of the shortfall the present settlement paid back. */
  readonly recoveredAtoms: bigint
  /** What acceptances made of the settlement; kept when a reorganisation takes it. Null while nothing was accepted. */
  readonly accepted: Accepted | null
  /** Added to the customer's total_spent, in minor units of the settlement currency. */
  readonly spentMinor: bigint | null
  /** Settlements so far, reversed ones included: numbers the causes of their entries. */
  readonly settlements: number
}

/** Also for a payment of another account: nobody learns that it exists. */
export const paymentNotFound = (): Refusal =>
  notFound('payment_not_found', 'there is no such payment in this account')
