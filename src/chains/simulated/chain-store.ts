/** What a simulated chain is made of, and what is asked of wherever it is kept (PostgreSQL, or memory). */
import type { Asset } from '../../core/assets.ts'
import type { Block, BlockRef, Outpoint, Output } from '../chain.ts'
import type { SimulatedChainName } from './network.ts'

export interface SimulatedTransaction {
  readonly txid: string
  /**
   * What it alone may use: the outputs it spends; on Ethereum its sender's nonce; for coins out of nowhere an
   * outpoint that never was, so that these can be double-spent too. Two transactions that claim the same exclude
   * each other.
   */
  readonly claims: readonly Outpoint[]
  readonly outputs: readonly Output[]
  /** What leaves its sender, gas included. Empty where claimed outputs carry the coins. */
  readonly debits: readonly Holding[]
  /** What a replacement has to outbid: its fee in atoms; on Ethereum its price of gas in wei. */
  readonly bid: bigint
  /** What it calls; claims, outputs and debits beyond its own nonce and gas are there only while a block holds it. */
  readonly call?: Call
}

/** An account's wish to run the delegate's code, valid while its nonce is this one. */
export interface Authorization {
  readonly account: string
  readonly nonce: number
}

/** What a transaction asks of the one contract that there is (calls.ts). Addresses are in lower case. */
export interface Call {
  readonly kind: 'deploy' | 'sweep'
  /** Who calls, and whom all sweeps go to. */
  readonly treasury: string
  readonly authorizations: readonly Authorization[]
  readonly sweeps: readonly { readonly account: string; readonly asset: Asset }[]
}

export interface Holding {
  readonly lookup: Uint8Array
  readonly asset: Asset
  readonly atoms: bigint
}

/** Balances by {@link holdingKey}; what is missing is zero. */
export type Balances = Map<string, bigint>
export const holdingKey = (holding: Pick<Holding, 'lookup' | 'asset'>): string =>
  `${Buffer.from(holding.lookup).toString('hex')}:${holding.asset}`
export const claimKey = (claim: Outpoint): string => `${claim.txid}:${claim.index}`

export interface Placed {
  readonly transaction: SimulatedTransaction
  /** Null while it waits in the mempool. */
  readonly block: BlockRef | null
}

/** What can be asked of a chain. Each answer is consistent in itself. */
export interface ChainReads {
  readonly chain: SimulatedChainName
  tip(): Promise<BlockRef>
  /** Null above the tip, and for what was pruned. */
  blockAt(height: number): Promise<BlockRef | null>
  block(
    hash: string,
  ): Promise<(Omit<Block, 'transactions'> & { transactions: SimulatedTransaction[] }) | null>
  /** Transactions of the best chain and the mempool, by txid. */
  transactions(txids: readonly string[]): Promise<Map<string, Placed>>
  /** Who claims these, by {@link claimKey}. */
  claimants(claims: readonly Outpoint[]): Promise<Map<string, Placed>>
  /** The waiting transactions in the order they came. */
  mempool(): Promise<SimulatedTransaction[]>
  mempoolIds(): Promise<string[]>
  /** The nonce an account uses next: one more than its last one in a block. */
  nextNonce(sender: string): Promise<bigint>
  /** Every asset of these accounts, in the best chain. */
  balances(lookups: readonly Uint8Array[]): Promise<Balances>
}

export interface ChainStore extends ChainReads {
  /** A hash that nobody saw before. */
  newHash(): string
  addToMempool(transaction: SimulatedTransaction): Promise<void>
  removeFromMempool(txids: readonly string[]): Promise<void>
  /** What a transaction claims and does is something else now. */
  rewrite(transaction: SimulatedTransaction): Promise<void>
  /** Appends blocks that follow each other, stamped with the clock; the first holds these waiting transactions. */
  append(blocks: readonly (BlockRef & { parentHash: string })[], txids: readonly string[]): Promise<void>
  /** Takes away every block above a height. @returns What they held, which waits again. */
  cut(height: number): Promise<SimulatedTransaction[]>
  setBalances(balances: Balances): Promise<void>
}

/** Where a simulated chain is kept: reads at any time, changes one after the other. */
export interface SimulatedStorage {
  readonly reads: ChainReads
  change<Result>(work: (store: ChainStore) => Promise<Result>): Promise<Result>
}
