/** The simulated chain in memory: the same rules, replayed exactly by the same seed. For simulation tests. */
import { createHash } from 'node:crypto'
import { invariant } from '../../core/errors.ts'
import type { Block, BlockRef } from '../chain.ts'
import {
  type Balances,
  type ChainStore,
  claimKey,
  holdingKey,
  type Placed,
  type SimulatedStorage,
  type SimulatedTransaction,
} from './chain-store.ts'
import { ASSETS_OF_ACCOUNTS, genesisOf, hashFormat, type SimulatedChainName } from './network.ts'

interface MemoryBlock extends Omit<Block, 'transactions'> {
  readonly transactions: SimulatedTransaction[]
}

export interface MemoryOptions {
  readonly chain: SimulatedChainName
  readonly seed: string
  /** The clock that stamps blocks, in milliseconds. */
  now(): number
}

/** Changes take turns, as they do in PostgreSQL, but a change that throws is not taken back. */
export function createMemoryStorage(options: MemoryOptions): SimulatedStorage {
  const store = createStore(options)
  let last: Promise<unknown> = Promise.resolve()
  return {
    reads: store,
    change: (work) => {
      const done = last.then(() => work(store))
      last = done.catch(() => {})
      return done
    },
  }
}

/** In one piece: the methods of one store over the same few maps. */
function createStore({ chain, seed, now }: MemoryOptions): ChainStore {
  let hashes = 0
  const blocks: MemoryBlock[] = [{ ...genesisOf(chain), timeMs: now(), transactions: [] }]
  const byHash = new Map(blocks.map((block) => [block.hash, block]))
  const placed = new Map<string, { transaction: SimulatedTransaction; block: BlockRef | null }>()
  const claims = new Map<string, string>()
  // A Map keeps the order in which its keys came.
  let waiting = new Map<string, SimulatedTransaction>()
  const balances: Balances = new Map()
  const nextNonces = new Map<string, bigint>()
  /** Of every name that is claimed the nonce after the last one in a block. */
  const countNonces = ({ claims, debits }: SimulatedTransaction, isUsed: boolean): void => {
    if (debits.length > 0)
      for (const { txid, index } of claims) nextNonces.set(txid, BigInt(isUsed ? index + 1 : index))
  }

  const wait = (transaction: SimulatedTransaction): void => {
    for (const claim of transaction.claims) {
      invariant(!claims.has(claimKey(claim)), `${claimKey(claim)} is claimed already`)
      claims.set(claimKey(claim), transaction.txid)
    }
    placed.set(transaction.txid, { transaction, block: null })
    waiting.set(transaction.txid, transaction)
  }

  const find = (txid: string): Placed[] => {
    const known = placed.get(txid)
    return known ? [known] : []
  }

  return {
    chain,
    newHash: () =>
      hashFormat(chain, createHash('sha256').update(`${seed}:${chain}:${hashes++}`).digest('hex')),
    tip: async () => {
      const last = blocks.at(-1)
      invariant(last, `${chain} lost its first block`)
      return refOf(last)
    },
    blockAt: async (height) => {
      const block = blocks[height]
      return block ? refOf(block) : null
    },
    block: async (hash) => byHash.get(hash) ?? null,
    transactions: async (txids) => new Map(txids.flatMap((txid) => find(txid).map((known) => [txid, known]))),
    claimants: async (wanted) =>
      new Map(
        wanted.flatMap((claim) =>
          find(claims.get(claimKey(claim)) ?? '').map((known) => [claimKey(claim), known]),
        ),
      ),
    mempool: async () => [...waiting.values()],
    mempoolIds: async () => [...waiting.keys()],
    nextNonce: async (sender) => nextNonces.get(sender) ?? 0n,
    balances: async (lookups) =>
      new Map(
        lookups.flatMap((lookup) =>
          ASSETS_OF_ACCOUNTS.flatMap((asset) => {
            const key = holdingKey({ lookup, asset })
            const atoms = balances.get(key)
            return atoms === undefined ? [] : [[key, atoms] as const]
          }),
        ),
      ),

    async addToMempool(transaction) {
      wait(transaction)
    },

    async removeFromMempool(txids) {
      for (const txid of txids) {
        for (const claim of waiting.get(txid)?.claims ?? []) claims.delete(claimKey(claim))
        if (waiting.delete(txid)) placed.delete(txid)
      }
    },

    async rewrite(transaction) {
      const before = placed.get(transaction.txid)
      invariant(before && !before.block, `${transaction.txid} does not wait`)
      for (const claim of before.transaction.claims) claims.delete(claimKey(claim))
      wait(transaction)
    },

    async append(mined, txids) {
      for (const [position, block] of mined.entries()) {
        const transactions = position > 0 ? [] : txids.flatMap((txid) => waiting.get(txid) ?? [])
        const full = { ...block, timeMs: now(), transactions }
        blocks.push(full)
        byHash.set(block.hash, full)
        for (const transaction of transactions) {
          placed.set(transaction.txid, { transaction, block: refOf(block) })
          countNonces(transaction, true)
          waiting.delete(transaction.txid)
        }
      }
    },

    async cut(height) {
      const gone = blocks.splice(height + 1)
      const returned = gone.flatMap((block) => block.transactions)
      for (const block of gone) byHash.delete(block.hash)
      for (const transaction of returned) placed.set(transaction.txid, { transaction, block: null })
      // The last ones first: what is left is the first nonce that is free.
      for (const transaction of returned.toReversed()) countNonces(transaction, false)
      // They came before everything that waits.
      waiting = new Map([
        ...returned.map((transaction) => [transaction.txid, transaction] as const),
        ...waiting,
      ])
      return returned
    },

    async setBalances(changed) {
      for (const [key, atoms] of changed) {
        invariant(atoms >= 0n, `${key} would hold ${atoms}`)
        balances.set(key, atoms)
      }
    },
  }
}

const refOf = ({ height, hash }: BlockRef): BlockRef => ({ height, hash })
