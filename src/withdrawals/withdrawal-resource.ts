/** A withdrawal as the API and the events show it. */
import { type Asset, type Network, networkOf } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import { isoOrNull } from '../core/time.ts'
import {
  type FailureReason,
  isOwnKind,
  type MerchantKind,
  WAITING_FOR,
  type Withdrawal,
  type WithdrawalStatus,
} from './withdrawal.ts'

/** Beside the signer's own reasons: that it has not come to it, the end of a cancelled one, depth in the chain. */
export const WAITING_REASONS = ['signature', ...WAITING_FOR, 'cancellation', 'block'] as const
export type WaitingReason = (typeof WAITING_REASONS)[number]

export interface WithdrawalResource {
  readonly id: string
  readonly status: WithdrawalStatus
  /** Ours: a refund returns a payment's unresolved funds. */
  readonly kind: MerchantKind
  readonly payment_id: string | null
  readonly asset: Asset
  readonly network: Network
  readonly amount_atoms: string
  readonly fee_atoms: string
  readonly net_atoms: string
  readonly destination_address: string
  readonly tx_hash: string | null
  readonly failure_reason: FailureReason | null
  /** Ours: what stands between it and the next state; null at its end. */
  readonly waiting_for: WaitingReason | null
  readonly created_at: string
  readonly completed_at: string | null
}

/** A merchant's: the gateway's own are shown to nobody but the operator. */
export function withdrawalResource(withdrawal: Withdrawal): WithdrawalResource {
  const { kind } = withdrawal
  invariant(!isOwnKind(kind), `withdrawal ${showId('wd', withdrawal.id)} is the gateway's own`)
  return { ...factsOf(withdrawal), kind }
}

const factsOf = (withdrawal: Withdrawal): Omit<WithdrawalResource, 'kind'> => ({
  id: showId('wd', withdrawal.id),
  status: withdrawal.status,
  payment_id: withdrawal.paymentId && showId('pay', withdrawal.paymentId),
  asset: withdrawal.asset,
  network: networkOf(withdrawal.asset),
  amount_atoms: String(withdrawal.amountAtoms),
  fee_atoms: String(withdrawal.feeAtoms),
  net_atoms: String(withdrawal.netAtoms),
  destination_address: withdrawal.destination,
  tx_hash: withdrawal.txHash,
  waiting_for: waitingOf(withdrawal),
  failure_reason: withdrawal.status === 'failed' ? withdrawal.refusedReason : null,
  created_at: withdrawal.createdAt.toISOString(),
  completed_at: isoOrNull(withdrawal.completedAt),
})

export function waitingOf({ status, cancelWanted, waitingFor: reason }: Withdrawal): WaitingReason | null {
  if (status === 'broadcast') return 'block'
  if (status !== 'requested') return null
  return cancelWanted ? 'cancellation' : (reason ?? 'signature')
}
