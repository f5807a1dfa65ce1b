/** A payment as the API, the events and the hosted pages show it. */
import { ASSET_FACTS, type Asset, type Fiat, type Network, networkOf } from '../core/assets.ts'
import { showId } from '../core/ids.ts'
import { parseVerbatim } from '../core/json.ts'
import { fiatToNumber, formatAmount, formatDecimal, notBelowZero } from '../core/money.ts'
import { isoOrNull } from '../core/time.ts'
import type { Deposit } from '../deposits/deposit.ts'
import { isInTime, paysFor } from '../deposits/received.ts'
import { isPaid, neededAtoms, type Payment, type PaymentStatus } from './payment.ts'
import { amountUri, type EthereumPlace, paymentUri } from './payment-uri.ts'

/** What is shown of a deposit. */
export type DepositSource = Pick<
  Deposit,
  'asset' | 'txHash' | 'amountAtoms' | 'status' | 'blockHeight' | 'late' | 'dust' | 'seenAt'
>

export interface PaymentResource {
  readonly id: string
  readonly status: PaymentStatus
  readonly asset: Asset
  readonly network: Network
  readonly fiat_currency: Fiat
  readonly fiat_amount: number
  readonly fee_fiat: number
  readonly net_fiat: number
  readonly confirmations: number
  readonly reference: string | null
  readonly metadata: unknown
  readonly expires_at: string
  readonly created_at: string
  readonly detected_at: string | null
  readonly completed_at: string | null
  readonly customers: { readonly id: string; readonly email: string } | null
  readonly deposit: {
    readonly address: string
    readonly asset: Asset
    readonly network: Network
    readonly expected_amount: string
    readonly expected_amount_atoms: string
    readonly qr_data: string
    /** Of {@link paymentUri}: null when no wallet could pay it. */
    readonly payment_uri: string | null
    readonly status: PaymentStatus
    readonly confirmations: number
    readonly required_confirmations: number
    readonly expires_at: string
  }
  /** Decimal in the coin, of an underpaid payment: sent in time, it completes it. Null in every other state. */
  readonly missing: string | null
  /** Where the buyer of a checkout wants back what is held; null while he said nothing. */
  readonly refund_address: string | null
  readonly deposits: readonly DepositResource[]
}

export interface DepositResource {
  readonly tx_hash: string | null
  readonly asset: Asset
  readonly amount: string
  readonly amount_atoms: string
  readonly confirmations: number
  readonly status: DepositSource['status']
  readonly late: boolean
  readonly seen_at: string
}

/** What the resource needs to know of the payment's chain. */
export interface ChainFacts extends EthereumPlace {
  /** For the confirmations. */
  readonly tipHeight: number
}

interface Beside {
  /** Of the checkout that made it. */
  readonly refundAddress?: string | null
  /** Atoms of its own coin that a refund took: of an underpaid payment they have to be sent anew. */
  readonly refundedAtoms?: bigint
}

/** @param deposits - All of the payment's, oldest first. */
export function paymentResource(
  payment: Payment,
  deposits: readonly DepositSource[],
  from: ChainFacts,
  { refundAddress = null, refundedAtoms = 0n }: Beside = {},
): PaymentResource {
  const { tipHeight } = from
  const { asset, address } = payment
  const { decimals } = ASSET_FACTS[asset]
  const expected = formatDecimal(payment.dueAtoms, decimals)
  const confirmations = paymentConfirmations(payment, deposits, tipHeight)
  const missing = payment.status === 'underpaid' ? missingAtoms(payment, deposits, refundedAtoms) : null
  const network = networkOf(payment.asset)
  const expiresAt = payment.expiresAt.toISOString()
  return {
    id: showId('pay', payment.id),
    status: payment.status,
    asset: payment.asset,
    network,
    fiat_currency: payment.fiatCurrency,
    fiat_amount: fiatToNumber(payment.fiatMinor),
    fee_fiat: fiatToNumber(payment.feeMinor),
    net_fiat: fiatToNumber(payment.netMinor),
    confirmations,
    reference: payment.reference,
    metadata: payment.metadata === null ? {} : parseVerbatim(payment.metadata),
    expires_at: expiresAt,
    created_at: payment.createdAt.toISOString(),
    detected_at: isoOrNull(payment.detectedAt),
    completed_at: isoOrNull(payment.completedAt),
    customers:
      payment.customerId && payment.customerEmail
        ? { id: showId('cus', payment.customerId), email: payment.customerEmail }
        : null,
    deposit: {
      address: payment.address,
      asset: payment.asset,
      network,
      expected_amount: expected,
      expected_amount_atoms: payment.dueAtoms.toString(),
      qr_data: amountUri(asset, address, payment.dueAtoms),
      payment_uri: paymentUri({ asset, address, atoms: payment.dueAtoms }, from),
      status: payment.status,
      confirmations,
      required_confirmations: payment.requiredConfirmations,
      expires_at: expiresAt,
    },
    refund_address: refundAddress,
    missing: missing === null ? null : formatDecimal(missing, decimals),
    deposits: deposits.map((deposit) => depositResource(deposit, tipHeight)),
  }
}

/** What is needed less what came in time, may stay, and was not sent back; never below zero. */
function missingAtoms(payment: Payment, deposits: readonly DepositSource[], refundedAtoms: bigint): bigint {
  const came = deposits
    .filter((deposit) => paysFor(deposit, payment) && isInTime(deposit, payment))
    .reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n)
  return notBelowZero(neededAtoms(payment) - notBelowZero(came - refundedAtoms))
}

function depositResource(deposit: DepositSource, tipHeight: number): DepositResource {
  return {
    tx_hash: deposit.txHash,
    asset: deposit.asset,
    amount: formatAmount(deposit.amountAtoms, deposit.asset),
    amount_atoms: deposit.amountAtoms.toString(),
    confirmations: confirmationsAt(deposit, tipHeight),
    status: deposit.status,
    late: deposit.late,
    seen_at: deposit.seenAt.toISOString(),
  }
}

/**
 * How far the payment is, or was when it settled: the confirmations of the deposits that count, the deepest first, by which what is
 * needed is there, or of the last one while it is not. What came beyond that delays nothing.
 */
function paymentConfirmations(
  payment: Payment,
  deposits: readonly DepositSource[],
  tipHeight: number,
): number {
  const settled = isPaid(payment.status)
  const paying = deposits.filter(
    (deposit) => paysFor(deposit, payment) && (!settled || deposit.status === 'confirmed'),
  )
  const inTime = paying.filter((deposit) => isInTime(deposit, payment))
  const counted = (inTime.length > 0 ? inTime : paying)
    .map((deposit) => ({ ...deposit, confirmations: confirmationsAt(deposit, tipHeight) }))
    .sort((a, b) => b.confirmations - a.confirmations)
  let came = 0n
  for (const { amountAtoms, confirmations } of counted) {
    came += amountAtoms
    if (came >= neededAtoms(payment)) return confirmations
  }
  return counted.at(-1)?.confirmations ?? 0
}

const confirmationsAt = (deposit: DepositSource, tipHeight: number): number =>
  deposit.blockHeight === null ? 0 : Math.max(0, tipHeight - deposit.blockHeight + 1)
