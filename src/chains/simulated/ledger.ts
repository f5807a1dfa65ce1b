/**
 * The rules of the simulated chain: blocks, mempool, conflicts, reorganisations. They are the same wherever it is
 * kept; a {@link ChainStore} keeps it (PostgreSQL, or memory) and has no opinion. Whoever calls a function that
 * changes the chain holds it alone meanwhile.
 */
import { type Asset, hasAccounts } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import type { Block, BlockRef, Outpoint, Output } from '../chain.ts'
import { elsewhere, type SimulatedChainName } from './network.ts'

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

/** Sends coins out of nowhere to an address. @returns The txid; the transaction waits in the mempool. */
export async function mint(store: ChainStore, coins: Holding): Promise<string> {
  const txid = store.newHash()
  await store.addToMempool({
    txid,
    claims: [{ txid: store.newHash(), index: 0 }],
    outputs: [{ ...coins, index: outputIndex(coins.asset) }],
    debits: [],
    bid: 0n,
  })
  return txid
}

/** Position of a transaction's only credit, as the port counts it: -1 for ether, the first log or output otherwise. */
const outputIndex = (asset: Asset): number => (asset === 'ETH' ? -1 : 0)

/** Mines blocks; the first takes everything that waits and can be carried out. @returns The new tip. */
export async function mine(store: ChainStore, count = 1): Promise<BlockRef> {
  const waiting = await store.mempool()
  const included = hasAccounts(store.chain) ? await payable(store, waiting) : waiting
  const blocks = newBlocks(store, await store.tip(), count)
  await store.append(
    blocks,
    included.map((transaction) => transaction.txid),
  )
  return store.tip()
}

/**
 * The last blocks turn out not to be on the best chain: a branch of empty blocks, longer by one, takes their place,
 * and their transactions wait again.
 *
 * @throws {Refusal} `conflict`, reason `chain_too_short`, when there are fewer blocks than that.
 */
export async function reorganise(store: ChainStore, depth: number): Promise<BlockRef> {
  const tip = await store.tip()
  const fork = await store.blockAt(tip.height - depth)
  if (!fork) {
    throw new Refusal(
      'conflict',
      'chain_too_short',
      `${store.chain} has ${tip.height} blocks above its first one, so ${depth} cannot be taken away; mine some first`,
    )
  }
  const returned = await store.cut(fork.height)
  if (hasAccounts(store.chain)) {
    const balances = await balancesOf(store, returned)
    for (const transaction of returned) apply(transaction, balances, -1n)
    await store.setBalances(balances)
  }
  await store.append(newBlocks(store, fork, depth + 1), [])
  return store.tip()
}

/**
 * Double-spends a waiting transaction: another one that claims the same sends its coins out of reach. What built on
 * the first one leaves the mempool with it.
 *
 * @returns The txid of the replacement; null when no such transaction waits.
 */
export async function replace(store: ChainStore, txid: string): Promise<string | null> {
  const placed = (await store.transactions([txid])).get(txid)
  if (!placed || placed.block) return null
  const { transaction } = placed
  await store.removeFromMempool(await withDescendants(store, [transaction]))
  const lookup = elsewhere(store.chain)
  const replacement: SimulatedTransaction = {
    ...transaction,
    txid: store.newHash(),
    outputs: transaction.outputs.map((output) => ({ ...output, lookup })),
    bid: transaction.bid + 1n,
  }
  await store.addToMempool(replacement)
  return replacement.txid
}

/** These waiting transactions and all that build on them, by txid. */
export async function withDescendants(
  store: ChainReads,
  transactions: readonly SimulatedTransaction[],
): Promise<string[]> {
  const found = new Set<string>()
  let generation = transactions
  while (generation.length > 0) {
    for (const transaction of generation) found.add(transaction.txid)
    const outputs = generation.flatMap(({ txid, outputs }) => outputs.map(({ index }) => ({ txid, index })))
    const spenders = hasAccounts(store.chain) ? new Map<string, Placed>() : await store.claimants(outputs)
    generation = [...spenders.values()]
      .map((placed) => placed.transaction)
      .filter((transaction) => !found.has(transaction.txid))
  }
  return [...found]
}

/** The waiting transactions whose senders can pay them now, in order; moves their coins. The others wait on. */
async function payable(
  store: ChainStore,
  waiting: readonly SimulatedTransaction[],
): Promise<SimulatedTransaction[]> {
  const balances = await balancesOf(store, waiting)
  const heldUp = new Set<string>()
  const included = waiting.filter((transaction) => {
    const sender = transaction.claims[0]?.txid ?? transaction.txid
    const pays = transaction.debits.every((debit) => (balances.get(holdingKey(debit)) ?? 0n) >= debit.atoms)
    // A nonce is used only after the one before it.
    if (!pays || heldUp.has(sender)) {
      heldUp.add(sender)
      return false
    }
    apply(transaction, balances, 1n)
    return true
  })
  await store.setBalances(balances)
  return included
}

function apply(transaction: SimulatedTransaction, balances: Balances, sign: 1n | -1n): void {
  const move = (holding: Holding, atoms: bigint) =>
    balances.set(holdingKey(holding), (balances.get(holdingKey(holding)) ?? 0n) + atoms)
  for (const debit of transaction.debits) move(debit, -sign * debit.atoms)
  for (const output of transaction.outputs) move(output, sign * output.atoms)
}

const balancesOf = (store: ChainReads, transactions: readonly SimulatedTransaction[]): Promise<Balances> =>
  store.balances(
    transactions.flatMap(({ debits, outputs }) => [...debits, ...outputs].map(({ lookup }) => lookup)),
  )

function newBlocks(store: ChainStore, parent: BlockRef, count: number) {
  let parentHash = parent.hash
  return Array.from({ length: count }, (_, index) => {
    const block = { height: parent.height + 1 + index, hash: store.newHash(), parentHash }
    parentHash = block.hash
    return block
  })
}
