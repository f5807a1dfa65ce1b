/** A deposit: one output that the chain showed at an address we issued. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { AccountId, DepositId, PaymentId } from '../core/ids.ts'

export const DEPOSIT_STATUSES = ['seen', 'confirmed', 'replaced', 'reorganised', 'dropped'] as const
export type DepositStatus = (typeof DEPOSIT_STATUSES)[number]

export interface Deposit {
  readonly accountId: AccountId
  readonly id: DepositId
  readonly paymentId: PaymentId
  readonly chain: ChainName
  readonly asset: Asset
  /** Names its transaction for good; equal to the hash unless no transaction can be named (see the chain port). */
  readonly txKey: string
  readonly txHash: string | null
  readonly outputIndex: number
  readonly address: string
  readonly amountAtoms: bigint
  readonly status: DepositStatus
  readonly blockHeight: number | null
  readonly blockHash: string | null
  readonly requiredConfirmations: number
  readonly seenAt: Date
  /** Seen after the payment's window, or when the payment was over already. */
  readonly late: boolean
  /** What a late deposit was worth at first sight, in minor units of the payment's currency. */
  readonly sightedMinor: bigint | null
  /** Below the asset's dust threshold: recorded, moves nothing. */
  readonly dust: boolean
  /** Of {@link macOfDeposit}. */
  readonly mac: Uint8Array
  /** How often the ledger took it in: numbers the causes of its entries. */
  readonly bookings: number
  /** The ledger holds it now. */
  readonly booked: boolean
}
