/**
 * The port to a chain. An adapter translates one kind of node (Bitcoin and Litecoin Core, an Ethereum
 * client, the simulated chain) into these shapes and holds no opinion about payments; it never writes to
 * Beck's tables. What it shows is facts: blocks by hash, what their transactions pay and spend, and what waits.
 */
import type { Asset, ChainName } from '../core/assets.ts'
import { OutsideFailure } from '../core/errors.ts'
import type { Fork } from '../core/forks.ts'
import type { SpareTime } from '../core/spare-time.ts'

/** A reorganisation deeper than this stops the watcher until the operator looks at it. */
export const REORGANISATION_DEPTH_MAX = 100

export interface BlockRef {
  readonly height: number
  readonly hash: string
}

export interface Outpoint {
  readonly txid: string
  readonly index: number
}

/** One credit on the chain, before anybody asked whose it is. */
export interface Output {
  /** What `addresses.lookup` holds: the scriptPubKey, or the 20 bytes of an EVM address. */
  readonly lookup: Uint8Array
  /**
   * Position in its transaction: output number; for tokens the position among the transaction's own logs (the log
   * index within the block changes when a reorganisation moves the transaction); for ether one of `core/ether-outputs.ts`.
   */
  readonly index: number
  readonly asset: Asset
  readonly atoms: bigint
}

export interface ChainTransaction {
  /** Names the transaction for good. Equal to `hash` unless no transaction can be named. */
  readonly key: string
  /**
   * Ether sent by contracts has the key `internal:<block hash>:<address>`, so a reorganisation ends it for good; its
   * hash is null unless the node can trace and one transaction is the clear source.
   */
  readonly hash: string | null
  readonly outputs: readonly Output[]
  /**
   * What it alone may spend: outputs; on chains with accounts its sender's nonce ({@link nonceAsOutpoint}). Two transactions
   * that spend the same exclude each other. Empty for what mints, and for ether that contracts sent.
   */
  readonly inputs: readonly Outpoint[]
  /** Chains with accounts: `addresses.lookup` of those that something left by it, its sender and owners of tokens. */
  readonly senders?: readonly Uint8Array[]
}

/** Pieces of one buffer that belong to transactions of a list. */
export interface Pieces {
  readonly bytes: Uint8Array
  /** Three numbers a piece: where it begins, where it ends, and which transaction of the list it is of. */
  readonly ranges: ArrayLike<number>
}

export const NUMBERS_PER_PIECE = 3

/** What the transactions of a list are looked up by, for queries that ask of all of them at once. */
export interface TransactionPieces {
  /** Lookups of all that is paid, and perhaps of what is not shown, because nobody can spend it. */
  readonly lookups: Pieces
  /** The ids that inputs name, as their text. */
  readonly spent: Pieces
}

/** An account's nonce in the form of an output: the account as a word of 32 bytes, as long as every transaction's id. */
export const nonceAsOutpoint = (account: string, nonce: bigint | number): Outpoint => ({
  txid: account.replace(/^0x/, '').toLowerCase().padStart(64, '0'),
  index: Number(nonce),
})

export interface Block extends BlockRef {
  readonly parentHash: string
  readonly timeMs: number
  /** Only transactions that paid or spent something that this port can show; reverted ones pay nothing, and spend their nonce. */
  readonly transactions: readonly ChainTransaction[]
  /**
   * Of the transactions; given by adapters whose blocks hold ten thousand outputs, so that nothing is made of those that concern
   * nobody here.
   */
  readonly pieces?: TransactionPieces
  /**
   * Accounts that were asked for and whose ether could not be compared, because the node has the state of this block
   * or of its parent no longer (catching up after a long rest). What contracts sent them here shows only when what
   * they hold now ({@link ChainPort.etherAt}) is compared with what is recorded. Absent when nothing was missed.
   */
  readonly missedAccounts?: readonly string[]
}

export interface ReadBlockOptions {
  /**
   * Addresses whose ether is compared before and after the block, for ether that contracts send without a trace.
   * Adapters of chains with outputs ignore it.
   */
  readonly accounts?: readonly string[]
  /** Of who reads it: adapters of chains with large blocks read them in steps. */
  readonly spareTime?: SpareTime
}

export interface Mempool {
  /** Transactions that entered since the last poll; at the first poll of a lead, all of them. Batches keep memory flat. */
  readonly added: AsyncIterable<readonly ChainTransaction[]>
  /** Whether a transaction waits in the node's mempool now. Valid until the next poll. */
  has(txid: string): boolean
}

/** `already_known` is success: the node, or a block, has exactly these bytes. */
export type BroadcastOutcome =
  | { readonly kind: 'accepted' | 'already_known' }
  /** The node answered no: these bytes can not enter now (conflict, fee too low, nonce used). */
  | { readonly kind: 'refused'; readonly reason: string }

export interface ChainPort {
  readonly chain: ChainName

  /**
   * What chain this is: the hash of block 0, with the chain id on EVM chains.
   *
   * @throws {WrongChain} when the node is not on the network the operator named.
   */
  identity(): Promise<string>
  /** The node's best block. @throws {OutsideFailure} when it does not answer within 5 s or still syncs. */
  tip(): Promise<BlockRef>
  /** The hash of the best chain's block at a height; null above the tip. */
  blockHash(height: number): Promise<string | null>
  /** A whole block, by hash. @throws {OutsideFailure} when the node has it no longer (pruned, or reorganised away). */
  readBlock(hash: string, options?: ReadBlockOptions): Promise<Block>
  /**
   * The mempool, where the chain shows one. Ethereum is read from blocks only: null.
   *
   * @param ledSince - When who looks began to lead, of those who follow this chain. Where others led since the last look, with nodes of
   *   their own, what they wrote may not fit what this one showed: all is shown again.
   */
  lookAtMempool(ledSince: bigint): Promise<Mempool | null>
  /** Calls back early when the node hints at news. Hints may be lost: polling is the truth. Returns the way to stop. */
  onHint(wake: () => void): () => void

  /** Sends signed bytes. Never throws for an answer of the node, only for the lack of one. */
  broadcast(rawTransaction: string): Promise<BroadcastOutcome>
  /**
   * Where a transaction is now; null when neither a block nor the mempool holds it.
   *
   * @param seenAtHeight - Where the watcher saw it, if it did. A Bitcoin or Litecoin node without a transaction index shows
   *   a transaction whose outputs are all spent by its block alone: that one block is read, and no other.
   * @param knowing - Of Ethereum: the answer counts only from a node that has this block. Behind one URL stand many, and some are late.
   * @throws {OutsideFailure} when the node that answers does not have it.
   */
  findTransaction(txid: string, seenAtHeight?: number, knowing?: string): Promise<FoundTransaction | null>
  /**
   * What the chain holds at addresses now (confirmed state), per asset: the proof of the books reads this.
   *
   * @throws {OutsideFailure} when the node does not have the block that was named.
   */
  holdings(query: HoldingsQuery): Promise<Partial<Record<Asset, bigint>>>
  /**
   * The ether each address holds after a block, in the order asked; chains with accounts only.
   *
   * @throws {OutsideFailure} when the node has that state no longer.
   */
  etherAt?(blockHash: string, addresses: readonly string[]): Promise<readonly bigint[]>
  /**
   * What the chain holds now at scripts or addresses, whoever knows of it: for wallets that come back from their words.
   * It reads the whole set of UTXOs, which takes minutes on a large chain.
   */
  findFunds?(lookups: readonly Uint8Array[]): Promise<FoundFunds>
  /** What is worth an operator's look at a node that works; empty when nothing is. */
  concerns?(): Promise<readonly NodeConcern[]>
  /** What the network charges now for a transaction that should enter within the next few blocks. */
  feeRates(): Promise<FeeRates>
  /** The nonce that the next transaction of an account uses, in confirmed state; chains with accounts only. */
  nextNonce?(address: string): Promise<bigint>
  /**
   * Which transaction used a nonce of an account, in blocks up to a height; chains with accounts only. A node without an
   * archive tells of the blocks whose state it still has.
   */
  findNonceUse?(sender: string, nonce: bigint, upToHeight: number): Promise<NonceUse>
  /**
   * Whether transfers, each by itself, would succeed in the state after the last block; on chains where a call may fail and
   * costs its gas all the same. Absent elsewhere.
   *
   * @throws {OutsideFailure} when the node does not answer.
   */
  rehearse?(transfers: readonly RehearsedTransfer[]): Promise<readonly Rehearsal[]>
  /**
   * Whether one transaction of the treasury can sweep many addresses (EIP-7702), and what it needs of each; null where
   * the chain cannot. Absent where no chain of the kind can.
   */
  batchSweeping?(treasury: string, addresses: readonly string[]): Promise<BatchSweeping | null>
  close(): Promise<void>
}

export type FeeRates =
  | {
      readonly kind: 'vbyte'
      /** Null when the node has no estimate: it is new, was off for days, or its network is private. */
      readonly atomsPerKvb: bigint | null
      /** Whether a fee may be guessed then. Not where blocks are full: it would be many times too little, or too much. */
      readonly mayGuess: boolean
      /** The least that the node's mempool takes now. */
      readonly floorAtomsPerKvb: bigint
    }
  | {
      readonly kind: 'gas'
      /** Of the next block. */
      readonly baseFeeWei: bigint
      readonly priorityFeeWei: bigint
      /** The newest fork that the last block shows. */
      readonly fork: Fork
    }

export interface NodeConcern {
  /** Goes on after "the node". */
  readonly problem: string
  readonly advice: string
}

export interface FoundTransaction {
  readonly block: BlockRef | null
  /** A block holds it, but its execution failed: it paid its fee and nothing else. Chains with accounts only. */
  readonly reverted?: boolean
  /** What its sender paid for it, once a block holds it. Chains with accounts only. */
  readonly feeAtoms?: bigint
  /** What tokens it moved, and whose. Chains with accounts only. */
  readonly tokensMoved?: readonly TokensMoved[]
}

export interface TokensMoved {
  /** What `addresses.lookup` holds: the 20 bytes of the address. */
  readonly from: Uint8Array
  readonly asset: Asset
  readonly atoms: bigint
}

/** `unclear`: it was used, and the node can not tell any more by what. */
export type NonceUse =
  | { readonly kind: 'unused' | 'unclear' }
  | { readonly kind: 'used'; readonly txid: string; readonly block: BlockRef }

export interface RehearsedTransfer {
  readonly from: string
  readonly asset: Asset
  readonly to: string
  readonly atoms: bigint
  /** What it may use at most. */
  readonly gasMax: bigint
}

/** Nothing follows about the receiver from a sender who holds too little (`short`), or a node that can not tell (`unclear`). */
export type Rehearsal =
  | { readonly kind: 'succeeds' | 'short' }
  | { readonly kind: 'reverts' | 'unclear'; readonly reason: string }

export interface BatchSweeping {
  /** The contract that addresses delegate to. */
  readonly delegate: string
  readonly isDeployed: boolean
  /** The addresses asked about, in their order. */
  readonly accounts: readonly { readonly nonce: bigint; readonly delegates: boolean }[]
}

export interface FoundFunds {
  /** The block after which it was so. */
  readonly at: BlockRef
  readonly funds: readonly {
    readonly lookup: Uint8Array
    readonly asset: Asset
    readonly atoms: bigint
    /** Null on chains with accounts. Whether a block minted it is told of what can not be spent yet for that reason. */
    readonly utxo: (Outpoint & { readonly height: number; readonly isCoinbase: boolean }) | null
  }[]
}

export interface HoldingsQuery {
  /** Chains with outputs: the ones believed unspent; spent ones count as nothing. */
  readonly outpoints: readonly Outpoint[]
  /** Chains with accounts: every address that may hold something. */
  readonly addresses: readonly string[]
  /**
   * Chains with accounts: the block after which it is asked. Of several nodes behind one URL some are behind the others:
   * one that does not have the block says so instead of telling of an older one. The node's best block by default.
   */
  readonly at?: string
}

/** The node follows another chain than the one the operator named, or than the one pinned at first contact. */
export class WrongChain extends OutsideFailure {
  override readonly name = 'WrongChain'
  constructor(chain: ChainName, expected: string, got: string) {
    super(
      `the node for ${chain} is on the wrong chain: expected ${expected}, got ${got}; check the URL and the network variable`,
      {
        retryable: false,
      },
    )
  }
}
