/**
 * What of a merchant's money nobody moves alone: from which amount of each coin, with how many approvals, and to which
 * addresses. The signer keeps the one in force in its own folder; the database only shows it.
 */
import { ASSETS, type Asset } from '../core/assets.ts'

/** Approvals by people other than who asked. */
export type ApprovalCount = 1 | 2

export interface CoinRule {
  /** Atoms of this coin, gross, that need approvals: 0 for all. What left without any within a day counts with it. */
  readonly fromAtoms: bigint
  readonly approvals: ApprovalCount
}

export interface ApprovalPolicy {
  /** A coin without a rule leaves by the operator's limits alone. */
  readonly coins: Readonly<Partial<Record<Asset, CoinRule>>>
  /** Whether what keys ask for needs approvals as what people ask for does. */
  readonly bindsKeys: boolean
  readonly allowlist: {
    /** Payouts go only to addresses on the list; refunds go where the buyer says, under the rules of their coin. */
    readonly isRequired: boolean
    /** Hours between an address's approval and its first use, by the signer's clock. */
    readonly delayHours: number
  }
}

/** How long a request can be approved; then it fails, and its hold is given back. */
export const APPROVAL_HOURS = 72

/** How long an approver who was added while a policy was in force waits before he counts: longer than a theft stays unseen. */
export const APPROVER_DELAY_HOURS = 7 * 24

export const ALLOWLIST_DELAY_HOURS_MAX = 30 * 24

/** Who asked: a person (`usr_…`), a key (`key_…`), or `unknown`. */
export type AskedBy = string
export const isKey = (askedBy: AskedBy): boolean => askedBy.startsWith('key_')

export interface Asked {
  readonly asset: Asset
  /** Gross. */
  readonly amountAtoms: bigint
  readonly askedBy: AskedBy
}

/**
 * Approvals that a withdrawal or refund needs.
 *
 * @param leftFreelyAtoms - Gross atoms of the coin that left this account without approvals within the last 24 hours: small
 *   ones add up, so that no more than the bound leaves in a day.
 */
export function approvalsNeeded(
  policy: ApprovalPolicy | null,
  asked: Asked,
  leftFreelyAtoms: bigint,
): 0 | ApprovalCount {
  const rule = policy?.coins[asked.asset]
  if (!policy || !rule) return 0
  if (isKey(asked.askedBy) && !policy.bindsKeys) return 0
  return leftFreelyAtoms + asked.amountAtoms >= rule.fromAtoms ? rule.approvals : 0
}

/** Approvals that a change of the policy, or of its allowlist, needs: as many as anything it guards; never none. */
export const approvalsToChange = (policy: ApprovalPolicy): ApprovalCount =>
  ASSETS.some((asset) => policy.coins[asset]?.approvals === 2) ? 2 : 1
