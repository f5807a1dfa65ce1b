/** A sweep: a deposit on its way to the hot wallet, and what becomes of it when what carries it out settles. */

export const SWEEP_STATUSES = ['planned', 'funding', 'funded', 'sweeping', 'done', 'failed'] as const
export type SweepStatus = (typeof SWEEP_STATUSES)[number]

export interface EndingSweep {
  readonly status: SweepStatus
  readonly way: 'alone' | 'batch'
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
