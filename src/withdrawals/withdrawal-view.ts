/** A withdrawal as the API and the events show it. */
import { type Asset, type Network, networkOf } from '../core/assets.ts'
import { showId } from '../core/ids.ts'
import { isoOrNull } from '../core/time.ts'
import type { Withdrawal, WithdrawalKind, WithdrawalStatus } from './withdrawal.ts'

export interface WithdrawalView {
  readonly id: string
  readonly status: WithdrawalStatus
  /** Ours: a refund returns a payment's unresolved funds. */
  readonly kind: WithdrawalKind
  readonly payment_id: string | null
  readonly asset: Asset
  readonly network: Network
  readonly amount_atoms: string
  readonly fee_atoms: string
  readonly net_atoms: string
  readonly destination_address: string
  readonly tx_hash: string | null
  readonly failure_reason: string | null
  readonly created_at: string
  readonly completed_at: string | null
}

export const withdrawalView = (withdrawal: Withdrawal): WithdrawalView => ({
  id: showId('wd', withdrawal.id),
  status: withdrawal.status,
  kind: withdrawal.kind,
  payment_id: withdrawal.paymentId && showId('pay', withdrawal.paymentId),
  asset: withdrawal.asset,
  network: networkOf(withdrawal.asset),
  amount_atoms: String(withdrawal.amountAtoms),
  fee_atoms: String(withdrawal.feeAtoms),
  net_atoms: String(withdrawal.netAtoms),
  destination_address: withdrawal.destination,
  tx_hash: withdrawal.txHash,
  failure_reason: withdrawal.status === 'failed' ? (withdrawal.refusedReason ?? 'not_payable') : null,
  created_at: withdrawal.createdAt.toISOString(),
  completed_at: isoOrNull(withdrawal.completedAt),
})
