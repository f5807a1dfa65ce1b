/** What waits for the passkeys of other people, as the database holds it. */
import { NETWORKS, type Network } from '../core/assets.ts'
import type { AccountId, ApprovalRequestId, PayoutBatchId, UserId, WithdrawalId } from '../core/ids.ts'
import {
  type ApprovalCount,
  type ApprovalPolicy,
  type PolicyJson,
  policyJson,
  readPolicy,
} from './approval-policy.ts'
import type { AskedBy } from './asker.ts'

/** `open` waits; `approved`: the signer has taken it; the rest is over. */
export const APPROVAL_STATUSES = ['open', 'approved', 'declined', 'expired', 'refused'] as const
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number]

/** What is asked for: money, or a change of what guards it. */
export type Asked =
  | { readonly act: 'withdrawal'; readonly withdrawalId: WithdrawalId }
  | { readonly act: 'batch'; readonly batchId: PayoutBatchId }
  | { readonly act: 'policy'; readonly follows: number; readonly policy: ApprovalPolicy }
  | ChangedAddress

export interface AllowedAddress {
  readonly network: Network
  readonly address: string
  readonly name: string
}

/** What is done to an allowlist. */
export type AllowlistAct = 'allow' | 'disallow'

interface ChangedAddress extends AllowedAddress {
  readonly act: AllowlistAct
}

export interface ApprovalRequest {
  readonly accountId: AccountId
  readonly id: ApprovalRequestId
  readonly asked: Asked
  readonly askedBy: AskedBy
  readonly needed: ApprovalCount
  readonly validUntil: Date
  readonly status: ApprovalStatus
  readonly declinedBy: UserId | null
  readonly refusedReason: string | null
  readonly createdAt: Date
  readonly decidedAt: Date | null
}

/** Whether an approval still passes. */
export const isOpen = ({ status, validUntil }: ApprovalRequest, now: Date): boolean =>
  status === 'open' && now < validUntil

type Terms = { readonly follows: number; readonly policy: PolicyJson } | AllowedAddress

export function termsOf(asked: Asked): Terms | null {
  if (asked.act === 'policy') return { follows: asked.follows, policy: policyJson(asked.policy) }
  if (asked.act === 'allow' || asked.act === 'disallow')
    return { network: asked.network, address: asked.address, name: asked.name }
  return null
}

interface AskedRow {
  readonly act: Asked['act']
  readonly withdrawalId: WithdrawalId | null
  readonly batchId: PayoutBatchId | null
  readonly terms: unknown
}

/** @returns Null for terms that nobody of ours wrote: they are shown to nobody, and approved by nobody. */
export function askedFromRow({ act, withdrawalId, batchId, terms }: AskedRow): Asked | null {
  if (act === 'withdrawal') return withdrawalId && { act, withdrawalId }
  if (act === 'batch') return batchId && { act, batchId }
  const given = terms as Readonly<Record<string, unknown>> | null
  if (act === 'policy') {
    const policy = readPolicy(given?.policy)
    return policy && Number.isInteger(given?.follows)
      ? { act, follows: given?.follows as number, policy }
      : null
  }
  const network = NETWORKS.find((each) => each === given?.network)
  const { address, name } = given ?? {}
  return network && typeof address === 'string' && typeof name === 'string'
    ? { act, network, address, name }
    : null
}
