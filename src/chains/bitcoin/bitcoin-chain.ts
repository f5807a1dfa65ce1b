/** Bitcoin and Litecoin behind the chain port, read from a Bitcoin Core or Litecoin Core node over JSON-RPC. */
import type { Asset } from '../../core/assets.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { member } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { larger } from '../../core/money.ts'
import { AT_ONCE, inSteps, type SpareTime } from '../../core/spare-time.ts'
import { MINUTE_MS, SECOND_MS } from '../../core/time.ts'
import {
  type BlockRef,
  type BroadcastOutcome,
  type ChainPort,
  type FeeRates,
  type FoundFunds,
  type FoundTransaction,
  type Outpoint,
  WrongChain,
} from '../chain.ts'
import { NodeError, take } from '../json-rpc.ts'
import { coinAtoms, count, text, txid } from './answers.ts'
import { parseBlock } from './block.ts'
import { concernsOf } from './concerns.ts'
import { listenForHints } from './hints.ts'
import { lookOver } from './mempool.ts'
import { type BitcoinLike, type BitcoinNetwork, bitcoinNetwork } from './networks.ts'
import {
  type CoreRpc,
  openCoreRpc,
  RPC_INTERNAL_ERROR,
  RPC_INVALID_ADDRESS_OR_KEY,
  RPC_INVALID_PARAMETER,
  RPC_VERIFY_ALREADY_IN_UTXO_SET,
} from './rpc.ts'
import { piecesOf, ShownTransaction } from './shown.ts'
import { tipReader } from './tip.ts'
import { MalformedBytes, parseTransaction } from './transaction.ts'

export interface BitcoinChainOptions {
  readonly chain: BitcoinLike
  /** `http://user:password@host:port`. */
  readonly rpcUrl: string
  /** `mainnet`, `testnet`, `regtest`, for Bitcoin also `testnet4` and `signet`. */
  readonly network: string
  readonly log: Log
}

/** A block is up to 8 MB of hex, which a pruned or busy node reads from a slow disk, and Beck takes in with rests of half a second in all. */
const BLOCK_TIMEOUT_MS = 20 * SECOND_MS
const OUTPOINTS_PER_BATCH = 500
/** How many outputs of a transaction are looked for among the unspent; most have two. */
const OUTPUTS_TRIED = 16
/** Blocks after which what one minted can be spent (consensus: COINBASE_MATURITY). */
const COINBASE_DEPTH = 100
/** Blocks within which a payout should be mined. */
const FEE_TARGET_BLOCKS = 3

/**
 * Opens the adapter; nothing is asked of the node before the first call.
 *
 * Works with Core 0.21 and newer, pruned nodes, and nodes without wallet or transaction index.
 *
 * @throws {RangeError} when the URL or the network's name is none.
 */
export function createBitcoinChain(options: BitcoinChainOptions): ChainPort {
  const { chain, log } = options
  const network = bitcoinNetwork(chain, options.network)
  const rpc = openCoreRpc(options.rpcUrl, network.rpcPort)
  const asset: Asset = chain === 'bitcoin' ? 'BTC' : 'LTC'
  const mempool = lookOver(rpc, (rawHex, txid) => {
    const parsed = parseTransaction(Buffer.from(rawHex, 'hex'), chain)
    if (parsed.isMwebOnly) return null
    if (parsed.txid !== txid) throw new MalformedBytes(`transaction ${parsed.txid} sent as ${txid}`, 0)
    return new ShownTransaction(parsed, asset)
  })
  const hints = new Set<() => void>()

  return {
    chain,
    identity: () => identity(rpc, network, chain),
    tip: tipReader(rpc, network, chain),
    blockHash: (height) => blockHash(rpc, height),

    async readBlock(hash, { spareTime = AT_ONCE } = {}) {
      const { bytes, height } = await rawBlock(rpc, hash, spareTime)
      const parsed = await inSteps(parseBlock(bytes, chain), spareTime)
      if (parsed.hash !== hash) throw new MalformedBytes(`block ${parsed.hash} sent as ${hash}`, 0)
      return {
        hash,
        height,
        parentHash: parsed.parentHash,
        timeMs: parsed.timeMs,
        transactions: parsed.transactions.map((transaction) => new ShownTransaction(transaction, asset)),
        pieces: await inSteps(piecesOf(parsed), spareTime),
      }
    },

    lookAtMempool: (ledSince) => mempool.look(ledSince),

    onHint(wake) {
      const stop = listenForHints(rpc, wake, log)
      hints.add(stop)
      return () => {
        hints.delete(stop)
        stop()
      }
    },

    broadcast: (rawTransaction) => broadcast(rpc, rawTransaction),
    findTransaction: (txid, seenAtHeight) => findTransaction(rpc, txid, seenAtHeight),
    feeRates: () => feeRates(rpc, network),
    concerns: () => concernsOf(rpc),
    findFunds: (lookups) => scanUnspent(rpc, asset, lookups),

    holdings: async ({ outpoints }) => ({ [asset]: await unspentAtoms(rpc, outpoints) }),

    async close() {
      for (const stop of hints) stop()
      hints.clear()
      rpc.close()
    },
  }
}

async function identity(rpc: CoreRpc, network: BitcoinNetwork, chain: BitcoinLike): Promise<string> {
  const genesis = text(await rpc.call('getblockhash', [0]))
  if (genesis !== network.genesisHash) throw new WrongChain(chain, network.genesisHash, genesis)
  const { checkpoint } = network
  const found = checkpoint ? await blockHash(rpc, checkpoint.height) : null
  if (checkpoint && found !== null && found !== checkpoint.hash)
    throw new WrongChain(chain, `${checkpoint.hash} at height ${checkpoint.height}`, found)
  return genesis
}

async function blockHash(rpc: CoreRpc, height: number): Promise<string | null> {
  try {
    return text(await rpc.call('getblockhash', [height]))
  } catch (error) {
    // "Block height out of range"
    if (error instanceof NodeError && error.code === RPC_INVALID_PARAMETER) return null
    throw error
  }
}

async function rawBlock(
  rpc: CoreRpc,
  hash: string,
  spareTime: SpareTime,
): Promise<{ bytes: Buffer; height: number }> {
  // By itself: only the answer to one call is taken in while it comes.
  const height = count(member(await rpc.call('getblockheader', [hash, true]), 'height'))
  const bytes = await rpc.callForBytes('getblock', [hash, 0], { timeoutMs: BLOCK_TIMEOUT_MS, spareTime })
  return { bytes, height }
}

/**
 * The node takes a transaction again that its mempool holds, answers -27 for one whose outputs are in the chain (in other
 * words since Core 28), and names the rest of what it knows already in words (Core src/validation.cpp, MemPoolAccept).
 */
const KNOWN =
  /txn-already-known|txn-already-in-mempool|txn-same-nonwitness-data-in-mempool|already in block chain/

/** The signer bounds what a transaction pays; a child that pays for a large parent exceeds the node's bound of its own. */
const ANY_FEE_RATE = 0

async function broadcast(rpc: CoreRpc, rawTransaction: string): Promise<BroadcastOutcome> {
  try {
    await rpc.call('sendrawtransaction', [rawTransaction, ANY_FEE_RATE])
    return { kind: 'accepted' }
  } catch (error) {
    if (!(error instanceof NodeError) || error.retryable) throw error
    if (error.code === RPC_VERIFY_ALREADY_IN_UTXO_SET || KNOWN.test(error.answer))
      return { kind: 'already_known' }
    return { kind: 'refused', reason: error.answer }
  }
}

async function findTransaction(
  rpc: CoreRpc,
  txid: string,
  seenAtHeight: number | undefined,
): Promise<FoundTransaction | null> {
  const [waiting, indexed] = await rpc.batch([
    { method: 'getmempoolentry', params: [txid] },
    { method: 'getrawtransaction', params: [txid, 1] },
  ])
  if (waiting && !waiting.error) return { block: null }
  if (indexed && !indexed.error) {
    const hash = member(indexed.result, 'blockhash')
    if (typeof hash !== 'string') return { block: null }
    const header = await rpc.call('getblockheader', [hash, true])
    // An index also knows blocks that a reorganisation took out of the chain.
    if (Number(member(header, 'confirmations')) > 0)
      return { block: { height: count(member(header, 'height')), hash } }
  }
  for (const answer of [waiting, indexed]) {
    if (answer?.error && answer.error.code !== RPC_INVALID_ADDRESS_OR_KEY) throw answer.error
  }
  const holder = await blockOfUnspent(rpc, txid)
  if (holder) return { block: holder }
  const found = seenAtHeight === undefined ? null : await blockAtHolding(rpc, txid, seenAtHeight)
  return found && { block: found }
}

/** The block of a transaction that still has an unspent output: the set of these tells how deep each lies. */
async function blockOfUnspent(rpc: CoreRpc, txid: string): Promise<BlockRef | null> {
  const answers = await rpc.batch(
    Array.from({ length: OUTPUTS_TRIED }, (_, index) => ({
      method: 'gettxout',
      params: [txid, index, false],
    })),
  )
  const unspent = answers.map(take).find((result) => result !== null)
  if (unspent === undefined) return null
  const seenFrom = text(member(unspent, 'bestblock'))
  const [header, best] = await rpc.batch([
    { method: 'getblockheader', params: [seenFrom, true] },
    { method: 'getbestblockhash' },
  ])
  const height = count(member(take(header), 'height')) - count(member(unspent, 'confirmations')) + 1
  const hash = await blockHash(rpc, height)
  if (hash === null || take(best) !== seenFrom)
    throw new OutsideFailure(`the chain moved while ${txid} was looked for`, { retryable: true })
  return { height, hash }
}

/** The block at a height, if it holds the transaction. */
async function blockAtHolding(rpc: CoreRpc, txid: string, height: number): Promise<BlockRef | null> {
  const hash = await blockHash(rpc, height)
  if (hash === null) return null
  const txids = member(await rpc.call('getblock', [hash, 1], { timeoutMs: BLOCK_TIMEOUT_MS }), 'tx')
  return Array.isArray(txids) && txids.includes(txid) ? { height, hash } : null
}

async function unspentAtoms(rpc: CoreRpc, outpoints: readonly Outpoint[]): Promise<bigint> {
  const found = (await readUnspent(rpc, outpoints)).filter((unspent) => unspent !== null)
  return found.reduce<bigint>((atoms, unspent) => atoms + coinAtoms(member(unspent, 'value')), 0n)
}

/** What the node says of each in the state after its best block, in the order asked; null of one that is spent. */
async function readUnspent(rpc: CoreRpc, outpoints: readonly Outpoint[]): Promise<unknown[]> {
  const read: unknown[] = []
  for (let from = 0; from < outpoints.length; from += OUTPOINTS_PER_BATCH) {
    const calls = outpoints
      .slice(from, from + OUTPOINTS_PER_BATCH)
      .map(({ txid, index }) => ({ method: 'gettxout', params: [txid, index, false] }))
    for (const answer of await rpc.batch(calls, { timeoutMs: BLOCK_TIMEOUT_MS })) read.push(take(answer))
  }
  return read
}

async function feeRates(rpc: CoreRpc, network: BitcoinNetwork): Promise<FeeRates> {
  const [estimate, mempool] = await rpc.batch([
    { method: 'estimatesmartfee', params: [FEE_TARGET_BLOCKS] },
    { method: 'getmempoolinfo' },
  ])
  // A node that relays blocks only answers that it does not estimate.
  const rate = estimate?.error?.code === RPC_INTERNAL_ERROR ? undefined : member(take(estimate), 'feerate')
  const info = take(mempool)
  const full = coinAtoms(member(info, 'mempoolminfee'))
  const relayed = coinAtoms(member(info, 'minrelaytxfee'))
  return {
    kind: 'vbyte',
    atomsPerKvb: rate === undefined ? null : coinAtoms(rate),
    mayGuess: !network.hasFeeMarket,
    floorAtomsPerKvb: larger(full, relayed),
  }
}

const SCAN_TIMEOUT_MS = 60 * MINUTE_MS

/** One pass over the node's UTXOs; no index and no wallet of the node's is needed. */
async function scanUnspent(rpc: CoreRpc, asset: Asset, lookups: readonly Uint8Array[]): Promise<FoundFunds> {
  const descriptors = lookups.map((lookup) => `raw(${Buffer.from(lookup).toString('hex')})`)
  const answer = await rpc.call('scantxoutset', ['start', descriptors], { timeoutMs: SCAN_TIMEOUT_MS })
  const unspents = member(answer, 'unspents')
  if (!Array.isArray(unspents))
    throw new OutsideFailure('the node sent no list of unspent coins', { retryable: true })
  const at = { height: count(member(answer, 'height')), hash: text(member(answer, 'bestblock')) }
  const outpoints = unspents.map((unspent) => ({
    txid: txid(member(unspent, 'txid')),
    index: count(member(unspent, 'vout')),
    height: count(member(unspent, 'height')),
  }))
  // The scan itself says so since Core 25 only.
  const young = outpoints.filter(({ height }) => height > at.height - COINBASE_DEPTH)
  const minted = new Set<object>()
  for (const [i, unspent] of (await readUnspent(rpc, young)).entries())
    if (young[i] && unspent !== null && member(unspent, 'coinbase') === true) minted.add(young[i])
  return {
    at,
    funds: unspents.map((unspent, i) => ({
      lookup: Buffer.from(text(member(unspent, 'scriptPubKey')), 'hex'),
      asset,
      atoms: coinAtoms(member(unspent, 'amount')),
      utxo: outpoints[i] ? { ...outpoints[i], isCoinbase: minted.has(outpoints[i]) } : null,
    })),
  }
}
