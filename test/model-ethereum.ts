/**
 * A chain with accounts in memory, for histories that a real node could not tell in time: what each block brought and took is
 * known, so what anybody derives from its balances can be compared with what is true of the branch.
 */
import { createHash } from 'node:crypto'
import type { Block, BlockRef, ChainPort, ChainTransaction } from '../src/chains/chain.ts'
import { OutsideFailure } from '../src/core/errors.ts'
import { SENT_TOP_LEVEL } from '../src/core/ether-outputs.ts'

export const MODEL_FEE = 21_000n

/** A transaction of ours, as its bytes tell: they are its JSON. */
export interface ModelTransaction {
  readonly txid: string
  readonly from: string
  readonly to: string
  readonly nonce: number
  readonly wei: string
  readonly reverts: boolean
}

interface ModelBlock extends Block {
  /** After it. */
  readonly balances: ReadonlyMap<string, bigint>
  readonly nonces: ReadonlyMap<string, number>
  readonly ours: readonly ModelTransaction[]
  /** Ether that came without a transaction of its own, by address. */
  readonly unannounced: ReadonlyMap<string, bigint>
}

export interface ModelEthereum {
  readonly port: ChainPort
  height(): number
  balance(address: string): bigint
  nonce(address: string): number
  /** A block with these deposits, that ether of contracts, and whatever of ours waits and can enter. */
  mine(brought?: {
    readonly deposits?: readonly { readonly to: string; readonly wei: bigint }[]
    readonly unannounced?: readonly { readonly to: string; readonly wei: bigint }[]
  }): void
  /** Replaces the last blocks by as many and one more, all empty. @param back - Whether what was ours in them waits again. */
  reorganise(depth: number, back: boolean): void
  /** Ether that contracts sent an address in the branch that ends in a block. */
  unannouncedUpTo(hash: string, address: string): bigint
}

const GENESIS = 110
const lookupOf = (address: string): Uint8Array => Buffer.from(address.slice(2), 'hex')

export function modelEthereum(): ModelEthereum {
  let count = 0
  let chain: ModelBlock[] = []
  const known = new Map<string, ModelBlock>()
  const waiting = new Map<string, ModelTransaction>()
  const hashOf = (text: string) => `0x${createHash('sha256').update(text).digest('hex')}`
  const last = (): ModelBlock => {
    const block = chain.at(-1)
    if (!block) throw new Error('the model begins with a block')
    return block
  }

  const append = (
    transactions: ChainTransaction[],
    unannounced: Map<string, bigint>,
    takes: boolean,
  ): void => {
    const parent = chain.at(-1)
    const balances = new Map(parent?.balances)
    const nonces = new Map(parent?.nonces)
    const add = (to: string, wei: bigint) => balances.set(to, (balances.get(to) ?? 0n) + wei)
    for (const { outputs } of transactions)
      for (const { lookup, atoms } of outputs) add(`0x${Buffer.from(lookup).toString('hex')}`, atoms)
    for (const [to, wei] of unannounced) add(to, wei)
    const ours: ModelTransaction[] = []
    for (const one of takes ? [...waiting.values()] : []) {
      const cost = MODEL_FEE + (one.reverts ? 0n : BigInt(one.wei))
      if ((nonces.get(one.from) ?? 0) !== one.nonce || (balances.get(one.from) ?? 0n) < cost) continue
      waiting.delete(one.txid)
      nonces.set(one.from, one.nonce + 1)
      add(one.from, -cost)
      if (!one.reverts) add(one.to, BigInt(one.wei))
      ours.push(one)
      const output = {
        lookup: lookupOf(one.to),
        index: SENT_TOP_LEVEL,
        asset: 'ETH' as const,
        atoms: BigInt(one.wei),
      }
      transactions.push({ key: one.txid, hash: one.txid, outputs: one.reverts ? [] : [output], inputs: [] })
    }
    count += 1
    const height = parent ? parent.height + 1 : 0
    const block: ModelBlock = {
      height,
      hash: hashOf(`${count}`),
      parentHash: parent?.hash ?? hashOf('nothing'),
      timeMs: Date.now(),
      transactions,
      balances,
      nonces,
      ours,
      unannounced,
    }
    known.set(block.hash, block)
    chain = [...chain, block]
  }
  for (let height = 0; height < GENESIS; height++) append([], new Map(), false)

  const at = (hash: string): ModelBlock => {
    const block = known.get(hash)
    if (!block) throw new OutsideFailure(`the model has no block ${hash}`, { retryable: true })
    return block
  }
  const ref = ({ height, hash }: ModelBlock): BlockRef => ({ height, hash })
  const port: ChainPort = {
    chain: 'ethereum',
    identity: async () => 'model',
    tip: async () => ref(last()),
    blockHash: async (height) => chain[height]?.hash ?? null,
    // As a node that keeps no state: all that contracts send has to be derived from balances.
    readBlock: async (hash, { accounts = [] } = {}) => ({ ...at(hash), missedAccounts: accounts }),
    lookAtMempool: async () => null,
    onHint: () => () => {},
    async broadcast(raw) {
      const one: ModelTransaction = JSON.parse(raw)
      if (waiting.has(one.txid) || chain.some(({ ours }) => ours.some(({ txid }) => txid === one.txid)))
        return { kind: 'already_known' }
      waiting.set(one.txid, one)
      return { kind: 'accepted' }
    },
    async findTransaction(txid) {
      const block = chain.find(({ ours }) => ours.some((one) => one.txid === txid))
      const one = block?.ours.find((each) => each.txid === txid)
      if (!block || !one) return waiting.has(txid) ? { block: null } : null
      return { block: ref(block), reverted: one.reverts, feeAtoms: MODEL_FEE, tokensMoved: [] }
    },
    async holdings({ addresses, at: hash }) {
      const { balances } = hash ? at(hash) : last()
      return {
        ETH: addresses.reduce((sum, address) => sum + (balances.get(address.toLowerCase()) ?? 0n), 0n),
      }
    },
    etherAt: async (hash, addresses) =>
      addresses.map((address) => at(hash).balances.get(address.toLowerCase()) ?? 0n),
    feeRates: async () => ({ kind: 'gas', baseFeeWei: 1n, priorityFeeWei: 0n, fork: 'prague' }),
    nextNonce: async (address) => BigInt(last().nonces.get(address.toLowerCase()) ?? 0),
    close: async () => {},
  }

  return {
    port,
    height: () => last().height,
    balance: (address) => last().balances.get(address.toLowerCase()) ?? 0n,
    nonce: (address) => last().nonces.get(address.toLowerCase()) ?? 0,
    mine({ deposits = [], unannounced = [] } = {}) {
      const transactions = deposits.map(({ to, wei }, index): ChainTransaction => {
        const key = hashOf(`deposit ${count} ${index}`)
        const output = { lookup: lookupOf(to), index: SENT_TOP_LEVEL, asset: 'ETH' as const, atoms: wei }
        return { key, hash: key, outputs: [output], inputs: [] }
      })
      const came = new Map<string, bigint>()
      for (const { to, wei } of unannounced)
        came.set(to.toLowerCase(), (came.get(to.toLowerCase()) ?? 0n) + wei)
      append(transactions, came, true)
    },
    reorganise(depth, back) {
      const taken = chain.slice(-depth)
      chain = chain.slice(0, -depth)
      if (back) for (const { ours } of taken) for (const one of ours) waiting.set(one.txid, one)
      for (let block = 0; block <= depth; block++) append([], new Map(), false)
    },
    unannouncedUpTo(hash, address) {
      let sum = 0n
      for (let block = known.get(hash); block; block = known.get(block.parentHash))
        sum += block.unannounced.get(address.toLowerCase()) ?? 0n
      return sum
    },
  }
}
