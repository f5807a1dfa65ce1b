/** What the signer signed, with all that its rows need: as its journal keeps it, and as the database is told of it. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { AccountId, WithdrawalId } from '../core/ids.ts'
import type { SignedKind } from './signed-transaction.ts'

/** An approval that released what a transaction pays: base64url, and the text whose SHA-256 the passkey answered. */
export interface ReleasedBy {
  readonly statement: string
  /** Of the approver, as the operator compared it. */
  readonly fingerprint: string
  readonly authenticatorData: string
  readonly clientData: string
  readonly signature: string
}

interface Signed {
  readonly chain: ChainName
  readonly txid: string
  /** The transaction that opened its replacement set; its own txid when it is that one. */
  readonly replacementSet: string
  readonly kind: SignedKind
  readonly raw: string
  readonly asset: Asset
  /** What it pays besides its fee. */
  readonly valueAtoms: string
  readonly feeAtoms: string
  readonly feeRate: string
  /** What leaves our wallets by it, in addition to what its set took before; the policy counts these. */
  readonly leaves: readonly { readonly asset: Asset; readonly atoms: string }[]
  /** Approvals of what it pays; left out where none were needed (docs/internals/approvals.md). */
  readonly approvals?: readonly ReleasedBy[]
}

/** Chains with outputs: a payout of withdrawals, what replaces it, a child that pays for it, or a consolidation. */
export interface OutputsEntry extends Signed {
  readonly purpose: 'outputs'
  /** Withdrawals that it pays, each as `account/id`; empty for a child and a consolidation. */
  readonly withdrawals: readonly string[]
  /** UTXOs it spends. */
  readonly spends: readonly { readonly txid: string; readonly index: number }[]
  /** Change: position under branch 1, and where it is in the transaction. */
  readonly change: Change | null
}

export interface Change {
  readonly position: string
  readonly index: number
  readonly atoms: string
}

/** Chains with accounts: it uses a nonce. */
interface ByAccount extends Signed {
  readonly sender: string
  readonly nonce: string
  /** Where it goes and from where, so that a replacement goes nowhere else. */
  readonly transfer: {
    readonly to: string
    readonly atoms: string
    readonly gasLimit: string
    readonly priorityFeeWei: string
    readonly branch: 0 | 1
    readonly position: string
  }
}

/** Pays a withdrawal. */
export interface TransferEntry extends ByAccount {
  readonly purpose: 'transfer'
  readonly withdrawals: readonly string[]
}

/** Gives an address the gas of its sweep, or carries that sweep out. */
export interface SweepEntry extends ByAccount {
  readonly purpose: 'gas' | 'sweep'
  readonly sweep: string
}

/** Many sweeps in one (EIP-7702): which, and whose authorisations it carries under which nonces. */
export interface BatchEntry extends ByAccount {
  readonly purpose: 'batch'
  readonly batch: {
    readonly sweeps: readonly string[]
    readonly authorities: readonly { readonly address: string; readonly nonce: string }[]
  }
}

/** Deploys the contract that batches run at. */
export interface DeployEntry extends ByAccount {
  readonly purpose: 'deploy'
  readonly deploys: string
}

export type AccountEntry = TransferEntry | SweepEntry | BatchEntry | DeployEntry
export type SignedEntry = OutputsEntry | AccountEntry

/** Withdrawals that it pays, each as `account/id`. */
export const paidBy = (entry: SignedEntry): readonly string[] =>
  'withdrawals' in entry ? entry.withdrawals : []

export interface PaidWithdrawal {
  readonly accountId: AccountId
  readonly id: WithdrawalId
}

/** How it names a withdrawal: `account/id`. */
export const nameOf = ({ accountId, id }: PaidWithdrawal): string => `${accountId}/${id}`

/** Whether it opens its replacement set. */
export const opensSet = ({ txid, replacementSet }: Pick<SignedEntry, 'txid' | 'replacementSet'>): boolean =>
  txid === replacementSet
