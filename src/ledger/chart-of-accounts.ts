/**
 * The chart of accounts and what an entry may be. A transfer moves atoms from its debit to its credit account:
 * a debit account (`wallet`, `network_fees`, `loss`) grows by what it is debited, a credit account (`available`,
 * `held`, `unresolved`, `fees`, `capital`) by what it is credited.
 */
import type { Asset, ChainName } from '../core/assets.ts'
import { type AccountId, showIdOf } from '../core/ids.ts'

/** What the gateway owes one merchant: kept as balance rows that may never be negative. */
export const MERCHANT_ACCOUNTS = ['available', 'held', 'unresolved'] as const
export type MerchantAccount = (typeof MERCHANT_ACCOUNTS)[number]

/** The gateway's own: appended to, never locked, summed when asked for. */
const GATEWAY_ACCOUNTS = ['fees', 'network_fees', 'loss', 'capital', 'wallet'] as const
export type GatewayAccount = (typeof GATEWAY_ACCOUNTS)[number]

export type LedgerAccount = MerchantAccount | GatewayAccount

export interface Transfer {
  readonly asset: Asset
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  readonly atoms: bigint
}

/** What an entry books, by the word for the row that it belongs to. */
export const ENTRY_KINDS = {
  deposit: ['deposit', 'deposit_reversal'],
  payment: ['settlement', 'settlement_reversal', 'acceptance'],
  withdrawal: ['hold', 'release', 'completion', 'completion_reversal', 'paid_after_failure', 'loss_return'],
  /** `spend`: what a payout took that no known withdrawal asked for. */
  transaction: ['network_fee', 'spend', 'capital'],
} as const
export type EntryKind = (typeof ENTRY_KINDS)[keyof typeof ENTRY_KINDS][number]

/** Why there is an entry. Booked once: the same cause again changes nothing. */
export interface Cause {
  readonly kind: EntryKind
  /** Of the deposit, payment or withdrawal; of a transaction its id on the chain. */
  readonly subjectId: string
  /** Counts up from 1; of `capital` the index of the output. */
  readonly number: number
}

/** In a sentence: `settlement 1 of payment pay_…`. */
export function sayCause({ kind, subjectId, number }: Cause): string {
  const word =
    Object.entries(ENTRY_KINDS).find(([, kinds]) => (kinds as readonly EntryKind[]).includes(kind))?.[0] ?? ''
  return `${kind} ${number} of ${word} ${showIdOf(word, subjectId)}`
}

/** For a table's key. */
export const showCause = ({ kind, subjectId, number }: Cause): string => `${kind} ${subjectId} ${number}`

export interface JournalEntry {
  /** The merchant concerned, or `GATEWAY` for what concerns the gateway alone. */
  readonly accountId: AccountId
  readonly chain: ChainName
  readonly cause: Cause
  readonly transfers: readonly Transfer[]
}
