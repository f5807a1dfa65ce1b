/**
 * What of a merchant's money nobody moves alone: from which amount of each coin, with how many approvals, and to which
 * addresses. The signer keeps the one in force in its own folder; the database only shows it.
 */
import { ASSETS, type Asset, isAsset } from '../core/assets.ts'
import { MINUTE_MS } from '../core/time.ts'
import { type AskedBy, isKey } from './asker.ts'

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

/** How long after that the signer still takes what was given in time: the server hears people until the last moment. */
export const GRACE_MINUTES = 5

/** Whether nothing counts any more of what was to be approved until a time. */
export const isPastGrace = (validUntil: Date, now: number): boolean =>
  validUntil.getTime() + GRACE_MINUTES * MINUTE_MS <= now

/** How long an approver who was added while a policy was in force waits before he counts: longer than a theft stays unseen. */
export const APPROVER_DELAY_HOURS = 7 * 24

export const ALLOWLIST_DELAY_HOURS_MAX = 30 * 24

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
 *   ones add up, so that less than the bound leaves in a day.
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

/** As it stands in the database and in the signer's log. */
export interface PolicyJson {
  readonly coins: Readonly<
    Partial<Record<Asset, { readonly from_atoms: string; readonly approvals: number }>>
  >
  readonly binds_keys: boolean
  readonly allowlist: { readonly is_required: boolean; readonly delay_hours: number }
}

export const policyJson = ({ coins, bindsKeys, allowlist }: ApprovalPolicy): PolicyJson => ({
  coins: Object.fromEntries(
    ASSETS.flatMap((asset) => {
      const rule = coins[asset]
      return rule ? [[asset, { from_atoms: String(rule.fromAtoms), approvals: rule.approvals }] as const] : []
    }),
  ),
  binds_keys: bindsKeys,
  allowlist: { is_required: allowlist.isRequired, delay_hours: allowlist.delayHours },
})

/** @returns Null for what is no policy, or says more than one. */
export function readPolicy(json: unknown): ApprovalPolicy | null {
  const { coins, binds_keys, allowlist, ...more } = asRecord(json)
  const { is_required, delay_hours, ...moreOfList } = asRecord(allowlist)
  const rules = Object.entries(asRecord(coins)).map(([asset, rule]) => [asset, readRule(rule)] as const)
  if (Object.keys(more).length > 0 || Object.keys(moreOfList).length > 0) return null
  if (!isRecord(coins) || typeof binds_keys !== 'boolean' || typeof is_required !== 'boolean') return null
  if (!rules.every(([asset, rule]) => isAsset(asset) && rule)) return null
  if (typeof delay_hours !== 'number' || !Number.isInteger(delay_hours)) return null
  if (delay_hours < 0 || delay_hours > ALLOWLIST_DELAY_HOURS_MAX) return null
  return {
    coins: Object.fromEntries(rules),
    bindsKeys: binds_keys,
    allowlist: { isRequired: is_required, delayHours: delay_hours },
  }
}

function readRule(json: unknown): CoinRule | null {
  const { from_atoms, approvals, ...more } = asRecord(json)
  if (Object.keys(more).length > 0 || (approvals !== 1 && approvals !== 2)) return null
  if (typeof from_atoms !== 'string' || !/^(0|[1-9]\d{0,76})$/.test(from_atoms)) return null
  return { fromAtoms: BigInt(from_atoms), approvals }
}

const asRecord = (json: unknown): Readonly<Record<string, unknown>> => (isRecord(json) ? { ...json } : {})

const isRecord = (json: unknown): json is object =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
