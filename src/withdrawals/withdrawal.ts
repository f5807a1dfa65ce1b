/** A withdrawal: money that leaves for a wallet that is not ours, and the few things that can happen to it. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { AccountId, PaymentId, WithdrawalId } from '../core/ids.ts'

export const WITHDRAWAL_STATUSES = ['requested', 'broadcast', 'completed', 'failed'] as const
export type WithdrawalStatus = (typeof WITHDRAWAL_STATUSES)[number]

/** A merchant's available balance, or the unresolved funds of one payment on their way back to the buyer. */
export const WITHDRAWAL_KINDS = ['payout', 'refund'] as const
/** What the gateway itself takes out: fees that it earned, capital that it was given. */
export const OWN_KINDS = ['fees', 'capital'] as const
export type OwnKind = (typeof OWN_KINDS)[number]

export type MerchantKind = (typeof WITHDRAWAL_KINDS)[number]
export type WithdrawalKind = MerchantKind | OwnKind

/** Whether it is the gateway's own: no merchant hears of it. */
export const isOwnKind = (kind: WithdrawalKind): kind is OwnKind =>
  (OWN_KINDS as readonly string[]).includes(kind)

/** The account of the ledger that its amount is held from, and given back to when it fails. */
export const HELD_FROM = {
  payout: 'available',
  refund: 'unresolved',
  fees: 'fees',
  capital: 'capital',
} as const satisfies Record<WithdrawalKind, string>

/** What was asked for. None of it changes afterwards; the signer acts on nothing else. */
export interface WithdrawalRequest {
  readonly accountId: AccountId
  readonly id: WithdrawalId
  readonly kind: WithdrawalKind
  readonly paymentId: PaymentId | null
  readonly chain: ChainName
  readonly asset: Asset
  /** Gross amount debited: `feeAtoms + networkFeeAtoms + netAtoms`. */
  readonly amountAtoms: bigint
  readonly feeAtoms: bigint
  readonly networkFeeAtoms: bigint
  /** What the destination receives. */
  readonly netAtoms: bigint
  readonly destination: string
  /** Who asked, as `approvals/asker.ts` writes it; `operator` for the gateway's own, `unknown` for what nobody is known to have asked. */
  readonly askedBy: string
}

/** Why one failed; docs/payments.md tells merchants what each means. */
export const FAILURE_REASONS = [
  /** It was wanted no longer. */
  'cancelled',
  /** Other people of the team said no to it, or said nothing about it in time. */
  'declined',
  'not_approved',
  /** The operator's or the merchant's allowlist does not have its address. */
  'not_on_allowlist',
  /** However long it waited, it would be above the operator's limit. */
  'limit_per_tx',
  'limit_per_hour',
  'limit_per_day',
  /** Its row is not what was made, contradicts itself, is not covered by a hold, or names no address. */
  'not_authentic',
  'not_consistent',
  'not_held',
  'invalid_address',
  /** A node said that its call would revert: it was not signed. */
  'would_revert',
  /** Its call reverted. */
  'reverted',
  /** Another transaction used the nonce, or the coins, of the one that paid it. */
  'nonce_used',
  'coins_spent',
  /** A deep reorganisation paid it after its hold was given back. */
  'paid_after_failure',
  /** The sandbox was asked to let it fail. */
  'sandbox',
] as const
export type FailureReason = (typeof FAILURE_REASONS)[number]

/** What a node said of a transfer when it was asked whether it would succeed. */
export type RehearsalNote = 'succeeds' | 'reverts' | 'unclear'

/**
 * What a node's answer says of a call that may use so much gas: what succeeds succeeds with more, and what reverts reverts with
 * less. How much it is follows from the price of gas, which moves between the answer and the signature.
 */
export function rehearsalWith(
  { rehearsal, rehearsedGas }: { readonly rehearsal: RehearsalNote | null; readonly rehearsedGas: bigint },
  gasMax: bigint,
): RehearsalNote | null {
  if (rehearsal === 'succeeds' && gasMax < rehearsedGas) return null
  if (rehearsal === 'reverts' && gasMax > rehearsedGas) return null
  return rehearsal
}

/** Why nothing was signed yet for what was requested. */
export const WAITING_FOR = [
  /** The wallet has too little of the coin, or too little ether for its gas, now. */
  'coins',
  /** What would pay it is not deep enough in the chain yet. */
  'confirmations',
  /** The network asks for far more than was charged. */
  'network_fee',
  /** The operator's limits, his allowlist's waiting time, a freeze. */
  'limit',
  'allowlist',
  'frozen',
  /** Other people of the merchant have to approve it (docs/approvals.md). */
  'approval',
] as const
export type WaitingFor = (typeof WAITING_FOR)[number]

export interface Withdrawal extends WithdrawalRequest {
  readonly status: WithdrawalStatus
  readonly txHash: string | null
  readonly createdAt: Date
  readonly completedAt: Date | null
  readonly refusedReason: FailureReason | null
  readonly waitingFor: WaitingFor | null
  /** Nothing is signed for it any more. */
  readonly cancelWanted: boolean
}

/** Whether the signer may sign for it. */
export const isPayable = ({ status, refusedReason, cancelWanted }: Withdrawal): boolean =>
  status === 'requested' && refusedReason === null && !cancelWanted

export const WITHDRAWAL_TRIGGERS = [
  /** A node has a transaction that pays it, first one or fee bump. */
  'sent',
  /** A block took its transaction, deep enough. */
  'confirmed',
  /** The signer will never sign it, and has not. */
  'refused',
  /** No transaction that was signed for it can enter the chain any more, or the one that did moved nothing. */
  'impossible',
] as const
export type WithdrawalTrigger = (typeof WITHDRAWAL_TRIGGERS)[number]

const TRANSITIONS: Readonly<Record<WithdrawalStatus, Partial<Record<WithdrawalTrigger, WithdrawalStatus>>>> =
  {
    requested: { sent: 'broadcast', confirmed: 'completed', refused: 'failed', impossible: 'failed' },
    broadcast: { sent: 'broadcast', confirmed: 'completed', impossible: 'failed' },
    // What is completed is sent again after a deep reorganisation; only we hold the keys, so it stays what it is, unless
    // its call reverts this time.
    completed: { sent: 'completed', confirmed: 'completed', impossible: 'failed' },
    // The hold was given back: nothing may pay it any more.
    failed: {},
  }

/** What a withdrawal becomes; null when the trigger can not befall it in this state. */
export const statusAfter = (status: WithdrawalStatus, trigger: WithdrawalTrigger): WithdrawalStatus | null =>
  TRANSITIONS[status][trigger] ?? null

/** What the MAC of a request covers: all of it. */
export function requestMacParts(request: WithdrawalRequest): string[] {
  return [
    request.accountId,
    request.id,
    request.kind,
    request.paymentId ?? '',
    request.chain,
    request.asset,
    String(request.amountAtoms),
    String(request.feeAtoms),
    String(request.networkFeeAtoms),
    String(request.netAtoms),
    request.destination,
    request.askedBy,
  ]
}

/** Kinds of the entries that hold what is withdrawn, and that give it back. */
export const HOLD = 'hold'
export const RELEASE = 'release'

/** Cause of the ledger entry that holds the gross amount; the signer looks for it. */
export const holdCause = (id: WithdrawalId) => causeOf(HOLD, id)
export const releaseCause = (id: WithdrawalId) => causeOf(RELEASE, id)
export const completionCause = (id: WithdrawalId) => causeOf('completion', id)

/** A withdrawal causes each kind of entry once. */
export const CAUSE_NUMBER = 1

const causeOf = <Kind extends string>(kind: Kind, subjectId: WithdrawalId) => ({
  kind,
  subjectId,
  number: CAUSE_NUMBER,
})
