/** A sweep: a deposit on its way to the hot wallet, and what becomes of it when what carries it out settles. */

import { DAY_MS } from '../core/time.ts'
import { isOpen, type SignedStatus } from './signed-transaction.ts'

/** In a transaction of its own, or with others in one (EIP-7702). */
export type SweepWay = 'alone' | 'batch'

export const SWEEP_STATUSES = ['planned', 'funding', 'funded', 'sweeping', 'done', 'failed'] as const
export type SweepStatus = (typeof SWEEP_STATUSES)[number]

export interface EndingSweep {
  readonly status: SweepStatus
  readonly way: SweepWay
  /** What settled is what sweeps it, not what gives its address gas. */
  readonly isSwept: boolean
  /** The block of what settled shows that it moved its tokens. */
  readonly hasMoved: boolean
}

/**
 * What a sweep is once its transaction settled, or can never. One that was done fails when a reorganisation made it run again,
 * and for nothing; one that failed stays so, for another took its place.
 *
 * @param reverted - Nothing was moved, whatever was to be.
 */
export function sweepEnd({ status, way, isSwept, hasMoved }: EndingSweep, reverted: boolean): SweepStatus {
  if (status === 'planned' || status === 'failed') return status
  if (!isSwept) return reverted ? 'failed' : status
  return !reverted && (way === 'alone' || hasMoved) ? 'done' : 'failed'
}

/** One of the transactions that were to deploy the contract that batches run at. */
export interface Deployment {
  readonly status: SignedStatus
  /** Since it was signed. */
  readonly ageMs: number
}

/**
 * Whether the contract may be deployed anew, given that the chain does not show it: nothing that was signed for it may still
 * enter a block, none succeeded, and the last one is a day old, for one that reverts costs its gas.
 */
export const mayDeployAgain = (deployments: readonly Deployment[]): boolean =>
  deployments.every(({ status, ageMs }) => !isOpen(status) && status !== 'confirmed' && ageMs >= DAY_MS)
