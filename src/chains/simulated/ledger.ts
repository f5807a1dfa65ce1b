/**
 * The rules of the simulated chain: blocks, mempool, conflicts, reorganisations. They are the same wherever it is
 * kept; a {@link ChainStore} keeps it (PostgreSQL, or memory) and has no opinion. Whoever calls a function that
 * changes the chain holds it alone meanwhile.
 */
import { type Asset, hasAccounts } from '../../core/assets.ts'
import { conflict } from '../../core/errors.ts'
import { SENT_TOP_LEVEL } from '../../core/ether-outputs.ts'
import type { BlockRef } from '../chain.ts'
import { countNonce, execute, isNext, readAccounts, touchedBy, unexecuted } from './calls.ts'
import {
  type Balances,
  type ChainReads,
  type ChainStore,
  type Holding,
  holdingKey,
  type Placed,
  type SimulatedTransaction,
} from './chain-store.ts'
import { elsewhere } from './network.ts'

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

/** Position of a transaction's only credit, as the port counts it. */
const outputIndex = (asset: Asset): number => (asset === 'ETH' ? SENT_TOP_LEVEL : 0)

/** Mines blocks; the first takes everything that waits and can be carried out. @returns The new tip. */
export async function mine(store: ChainStore, count = 1): Promise<BlockRef> {
  const waiting = await store.mempool()
  const included = hasAccounts(store.chain) ? await payable(store, waiting) : waiting
  for (const transaction of included) if (transaction.call) await takeClaims(store, transaction)
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
    throw conflict(
      'chain_too_short',
      `${store.chain} has ${tip.height} blocks above its first one, so ${depth} cannot be taken away; mine some first`,
    )
  }
  const returned = await store.cut(fork.height)
  if (hasAccounts(store.chain)) {
    const balances = await balancesOf(store, returned)
    for (const transaction of returned) apply(transaction, balances, -1n)
    await store.setBalances(balances)
    for (const transaction of returned) if (transaction.call) await store.rewrite(unexecuted(transaction))
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

/**
 * The waiting transactions whose senders can pay them now, in the order they came, though never a nonce before the one that
 * precedes it; moves their coins. The others wait on.
 */
async function payable(
  store: ChainStore,
  waiting: readonly SimulatedTransaction[],
): Promise<SimulatedTransaction[]> {
  const balances = await balancesOf(store, waiting)
  const accounts = await readAccounts(store, waiting)
  const included: SimulatedTransaction[] = []
  const include = (transaction: SimulatedTransaction): boolean => {
    const pays = transaction.debits.every((debit) => (balances.get(holdingKey(debit)) ?? 0n) >= debit.atoms)
    if (!pays || !isNext(accounts, transaction)) return false
    const executed = transaction.call
      ? execute(transaction, transaction.call, balances, accounts)
      : transaction
    countNonce(accounts, transaction)
    apply(executed, balances, 1n)
    included.push(executed)
    return true
  }
  // Replacements come after what built on the nonces of those they replace.
  let left = waiting
  for (let before = -1; before < included.length; ) {
    before = included.length
    left = left.filter((transaction) => !include(transaction))
  }
  await store.setBalances(balances)
  return included
}

/** Whatever waits with a nonce that an authorisation used can never enter the chain any more. */
async function takeClaims(store: ChainStore, transaction: SimulatedTransaction): Promise<void> {
  const rivals = [...(await store.claimants(transaction.claims)).values()]
    .map((placed) => placed.transaction.txid)
    .filter((txid) => txid !== transaction.txid)
  await store.removeFromMempool(rivals)
  await store.rewrite(transaction)
}

function apply(transaction: SimulatedTransaction, balances: Balances, sign: 1n | -1n): void {
  const move = (holding: Holding, atoms: bigint) =>
    balances.set(holdingKey(holding), (balances.get(holdingKey(holding)) ?? 0n) + atoms)
  for (const debit of transaction.debits) move(debit, -sign * debit.atoms)
  for (const output of transaction.outputs) move(output, sign * output.atoms)
}

const balancesOf = (store: ChainReads, transactions: readonly SimulatedTransaction[]): Promise<Balances> =>
  store.balances(
    transactions.flatMap((transaction) => [
      ...[...transaction.debits, ...transaction.outputs].map(({ lookup }) => lookup),
      ...touchedBy(transaction),
    ]),
  )

function newBlocks(store: ChainStore, parent: BlockRef, count: number) {
  let parentHash = parent.hash
  return Array.from({ length: count }, (_, index) => {
    const block = { height: parent.height + 1 + index, hash: store.newHash(), parentHash }
    parentHash = block.hash
    return block
  })
}
