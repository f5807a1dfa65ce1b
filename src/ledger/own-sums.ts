/** The gateway's own side of the ledger: what it earned, was given, paid to the networks and lost, by chain and coin. */
import type { Asset, ChainName } from '../core/assets.ts'

export interface OwnSums {
  readonly chain: ChainName
  readonly asset: Asset
  /** Earned and not taken out: negative after a payment whose fee was taken out is reversed. */
  readonly fees: bigint
  readonly capital: bigint
  /** Paid to the networks, less what withdrawals were charged for it. */
  readonly networkFees: bigint
  readonly loss: bigint
  /** Held for withdrawals of the gateway's own. */
  readonly leaving: bigint
  /** What merchants have: available, held and unresolved. */
  readonly owed: bigint
}

/** What is the gateway's alone: what its wallets hold beyond what merchants have and what is on its way out. */
export const ownAtoms = ({ fees, capital, networkFees, loss }: OwnSums): bigint =>
  fees + capital - networkFees - loss

/** What the wallets hold by the books: every transfer has two sides, so it is all the others together. */
export const walletAtoms = (sums: OwnSums): bigint => ownAtoms(sums) + sums.owed + sums.leaving
