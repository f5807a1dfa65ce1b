/** Whether what a merchant's policy says of a withdrawal is met. Pure: what the signer knows goes in, what it does comes out. */
import { type ApprovalPolicy, approvalsNeeded, isPastGrace } from '../../approvals/approval-policy.ts'
import type { ApprovalStatus } from '../../approvals/approval-request.ts'
import { isAsker, isKey } from '../../approvals/asker.ts'
import type { Asset } from '../../core/assets.ts'
import { HOUR_MS } from '../../core/time.ts'
import type { FailureReason, WaitingFor, WithdrawalKind } from '../../withdrawals/withdrawal.ts'

export interface ToRelease {
  readonly kind: WithdrawalKind
  readonly asset: Asset
  /** Gross. */
  readonly amountAtoms: bigint
  readonly askedBy: string
}

/** What the signer's own folder says. */
export interface Known {
  readonly policy: ApprovalPolicy | null
  /** Gross atoms of the coin that left freely within the day, and are about to; null while that is not known. */
  readonly leftFreelyAtoms: bigint | null
  /** Persons who approved exactly this, by a passkey that counts now. */
  readonly approvedBy: ReadonlySet<string>
  /** When its address was allowed; null when it is not. */
  readonly allowedMs: number | null
}

/** What the database says of its request for approvals: it can only make it stricter. */
export interface OpenRequest {
  readonly status: ApprovalStatus
  readonly needed: number
  readonly validUntil: Date
}

export type Release =
  /** By no rule of a policy. */
  | 'unbound'
  /** Below the bound: it counts with what else leaves within a day. */
  | 'freely'
  | 'approved'

export type ReleaseVerdict =
  | { readonly kind: 'release'; readonly by: Release }
  | { readonly kind: 'wait'; readonly for: WaitingFor; readonly reason: string }
  | { readonly kind: 'refuse'; readonly reason: FailureReason }

export function judgeRelease(
  asked: ToRelease,
  known: Known,
  request: OpenRequest | null,
  now: number,
): ReleaseVerdict {
  const { policy, approvedBy } = known
  if (request?.status === 'declined') return { kind: 'refuse', reason: 'declined' }
  const rule = policy?.coins[asked.asset]
  const isBound = policy && rule && (policy.bindsKeys || !isKey(asked.askedBy))
  // As the asker's own approval counts for nothing.
  const given = [...approvedBy].filter((user) => !isAsker(user, asked.askedBy)).length
  const needed = isBound ? approvalsNeeded(policy, asked, known.leftFreelyAtoms ?? rule.fromAtoms) : 0
  const wanted = request && request.status !== 'approved' ? Math.max(needed, request.needed) : needed
  const isOver =
    request && (['expired', 'refused'].includes(request.status) || isPastGrace(request.validUntil, now))
  // What was given in the last minute may not have been looked at before. However long its address would wait: it can be approved no more.
  if (given < wanted && isOver) return { kind: 'refuse', reason: 'not_approved' }
  const address = judgeAddress(asked, known, now)
  if (address.kind !== 'release') return address
  if (given < wanted)
    return { kind: 'wait', for: 'approval', reason: `${given} of ${wanted} approvals were given` }
  if (!isBound) return { kind: 'release', by: 'unbound' }
  return { kind: 'release', by: given >= rule.approvals ? 'approved' : 'freely' }
}

/** Payouts go only where the list says; refunds go where the buyer says. */
function judgeAddress({ kind }: ToRelease, { policy, allowedMs }: Known, now: number): ReleaseVerdict {
  if (!policy?.allowlist.isRequired || kind === 'refund') return { kind: 'release', by: 'unbound' }
  if (allowedMs === null) return { kind: 'refuse', reason: 'not_on_allowlist' }
  return allowedMs + policy.allowlist.delayHours * HOUR_MS <= now
    ? { kind: 'release', by: 'unbound' }
    : {
        kind: 'wait',
        for: 'allowlist',
        reason: 'its address is on the allowlist of its merchant but its delay is not over',
      }
}
