/**
 * The port to Ethereum over JSON-RPC: ether, ether that contracts send, and the `Transfer` logs of exactly the
 * configured USDC and USDT contracts. Blocks are read whole and by hash; the mempool is not looked at.
 */
import { OutsideFailure } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { type Block, type ChainPort, WrongChain } from '../chain.ts'
import { balanceCalls, readBalances } from './balances.ts'
import { broadcastRaw } from './broadcast.ts'
import { clearSource, creditTransaction } from './contract-ether.ts'
import { createCreditReader } from './credit-reader.ts'
import { findNonceUse } from './nonce-use.ts'
import { createReceiptReader } from './receipts.ts'
import { createRpc, httpCarrier, type RpcAnswer, readNodeUrl, resultOf } from './rpc.ts'
import { openSocket } from './socket.ts'
import { DEPLOYER, delegateAddress, isDelegatedTo } from './sweep.ts'
import { createTracing } from './traces.ts'
import {
  type ExecutedTransaction,
  joinReceipts,
  shownOf,
  type TokenContracts,
  tokenTransferOf,
  toLookup,
} from './transactions.ts'
import {
  hex,
  list,
  quantity,
  readBlockRef,
  readReceipt,
  readWireBlock,
  record,
  toQuantity,
  type WireBlock,
} from './wire.ts'

export type EthereumNetwork = 'mainnet' | 'sepolia' | 'dev'

export interface EthereumChainOptions {
  /** http(s):// or ws(s)://, with user:password where the node wants them. */
  readonly rpcUrl: string
  /** Where new heads are announced, when `rpcUrl` is http(s). Without it the chain is polled only. */
  readonly wsUrl?: string
  /** `dev` takes any chain; the watcher pins the one it meets first. */
  readonly network: EthereumNetwork
  readonly usdcContract: string
  readonly usdtContract: string
  readonly log: Log
}

/** Chain id and genesis block of the networks that everybody knows. */
const KNOWN_CHAINS: Readonly<Record<Exclude<EthereumNetwork, 'dev'>, string>> = {
  mainnet: identityOf(1n, '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3'),
  sepolia: identityOf(11_155_111n, '0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9'),
}

/** Public networks make a block every 12 seconds; 15 missed in a row do not happen while the chain goes on. */
const HEAD_AGE_MS_MAX = 3 * MINUTE_MS

/** Where a node has no eth_maxPriorityFeePerGas, which is not in the standard. */
const DEFAULT_PRIORITY_FEE_WEI = 1_000_000_000n

export function createEthereumChain(options: EthereumChainOptions): ChainPort {
  const { log, network } = options
  const node = readNodeUrl(options.rpcUrl, ['http:', 'https:', 'ws:', 'wss:'])
  const rpcSocket = node.url.protocol.startsWith('ws') ? openSocket(node) : null
  const headSocket = options.wsUrl ? openSocket(readNodeUrl(options.wsUrl, ['ws:', 'wss:'])) : rpcSocket
  const rpc = createRpc(node, rpcSocket ?? httpCarrier(node))
  const usdc = hex(options.usdcContract, 'USDC_CONTRACT', 20)
  const usdt = hex(options.usdtContract, 'USDT_CONTRACT', 20)
  const tokens: TokenContracts = new Map([
    [usdc, 'USDC'],
    [usdt, 'USDT'],
  ])
  const readReceipts = createReceiptReader(rpc, log)
  const trace = createTracing(rpc, log)
  const readCredits = createCreditReader(rpc, log)

  return {
    chain: 'ethereum',

    async identity() {
      const [chainId, genesis] = await rpc.ask([
        { method: 'eth_chainId', params: [] },
        { method: 'eth_getBlockByNumber', params: ['0x0', false] },
      ])
      const got = identityOf(
        quantity(resultOf(chainId, 'eth_chainId'), 'chain id'),
        readBlockRef(resultOf(genesis, 'eth_getBlockByNumber')).hash,
      )
      if (network !== 'dev' && got !== KNOWN_CHAINS[network]) {
        throw new WrongChain('ethereum', `${network} (${KNOWN_CHAINS[network]})`, got)
      }
      return got
    },

    async tip() {
      const [syncing, latest] = await rpc.ask([
        { method: 'eth_syncing', params: [] },
        { method: 'eth_getBlockByNumber', params: ['latest', false] },
      ])
      if (network !== 'dev' && resultOf(syncing, 'eth_syncing') !== false) {
        throw new OutsideFailure(
          `${node.name} still synchronises; its view of the chain is not used until it has`,
          { retryable: true },
        )
      }
      const block = resultOf(latest, 'eth_getBlockByNumber')
      if (network !== 'dev') requireRecent(block, node.name)
      return readBlockRef(block)
    },

    async blockHash(height) {
      const block = await rpc.get('eth_getBlockByNumber', [toQuantity(height), false])
      return block === null ? null : readBlockRef(block).hash
    },

    async readBlock(hash, { accounts = [] } = {}) {
      const { block, executed } = await readExecuted(hash)
      const transactions = executed.map((one) => shownOf(one, tokens))
      const read: Block = { ...block, transactions }
      // The genesis block has no state before it.
      if (accounts.length === 0 || block.height === 0) return read
      const watched = [...new Set(accounts.map((account) => hex(account, 'address', 20)))]
      const { credits, missed } = await readCredits(block, executed, watched)
      const compared = missed.length > 0 ? { ...read, missedAccounts: missed } : read
      if (credits.length === 0) return compared
      const traced = (await trace(block)) ?? []
      return {
        ...compared,
        transactions: transactions.concat(
          credits.map((credit) => creditTransaction(block, credit, clearSource(credit, traced))),
        ),
      }
    },

    lookAtMempool: async () => null,

    onHint: (wake) => headSocket?.onHead(wake) ?? (() => {}),

    broadcast: (rawTransaction) => broadcastRaw(rpc, rawTransaction),

    async findTransaction(txid) {
      const [receipt, transaction] = await rpc.ask([
        { method: 'eth_getTransactionReceipt', params: [txid] },
        { method: 'eth_getTransactionByHash', params: [txid] },
      ])
      const found = resultOf(receipt, 'eth_getTransactionReceipt')
      if (found !== null) {
        const { height, blockHash, succeeded, feeWei, logs } = readReceipt(found)
        const moved = succeeded ? logs.map((log) => tokenTransferOf(log, tokens)) : []
        return {
          block: { height, hash: blockHash },
          reverted: !succeeded,
          feeAtoms: feeWei,
          tokensMoved: moved.flatMap((transfer) =>
            transfer ? [{ from: toLookup(transfer.from), asset: transfer.asset, atoms: transfer.atoms }] : [],
          ),
        }
      }
      return resultOf(transaction, 'eth_getTransactionByHash') === null ? null : { block: null }
    },

    async findFunds(lookups) {
      const at = readBlockRef(await rpc.get('eth_getBlockByNumber', ['latest', false]))
      const addresses = lookups.map((lookup) => `0x${Buffer.from(lookup).toString('hex')}`)
      const answers = await rpc.ask(balanceCalls(addresses, [usdc, usdt], { blockHash: at.hash }))
      const held = readBalances(answers, addresses.length, 2)
      const funds = held.flatMap((balances, account) =>
        (['ETH', 'USDC', 'USDT'] as const).map((asset, index) => ({
          lookup: lookups[account] ?? new Uint8Array(),
          asset,
          atoms: balances[index] ?? 0n,
          utxo: null,
        })),
      )
      return { at, funds: funds.filter(({ atoms }) => atoms > 0n) }
    },

    async holdings({ addresses, at }) {
      const held = { ETH: 0n, USDC: 0n, USDT: 0n }
      if (addresses.length === 0) return held
      // One block for all reads: coins that move between two addresses meanwhile are counted once.
      const blockHash = at ?? readBlockRef(await rpc.get('eth_getBlockByNumber', ['latest', false])).hash
      const answers = await rpc.ask(balanceCalls(addresses, [usdc, usdt], { blockHash }))
      for (const [eth = 0n, usdcAtoms = 0n, usdtAtoms = 0n] of readBalances(answers, addresses.length, 2)) {
        held.ETH += eth
        held.USDC += usdcAtoms
        held.USDT += usdtAtoms
      }
      return held
    },

    async etherAt(blockHash, addresses) {
      const answers = await rpc.ask(balanceCalls(addresses, [], { blockHash }))
      return readBalances(answers, addresses.length, 0).map(([atoms = 0n]) => atoms)
    },

    async feeRates() {
      const [history, priority] = await rpc.ask([
        { method: 'eth_feeHistory', params: ['0x1', 'latest', []] },
        { method: 'eth_maxPriorityFeePerGas', params: [] },
      ])
      // One fee for each block asked for, then the next block's, which follows from the last.
      const fees = list(
        record(resultOf(history, 'eth_feeHistory'), 'fee history').baseFeePerGas,
        'fee history',
      )
      return {
        kind: 'gas',
        baseFeeWei: quantity(fees.at(-1), 'base fee'),
        priorityFeeWei:
          priority && 'result' in priority
            ? quantity(priority.result, 'priority fee')
            : DEFAULT_PRIORITY_FEE_WEI,
      }
    },

    nextNonce: async (address) =>
      quantity(await rpc.get('eth_getTransactionCount', [address, 'latest']), 'nonce'),

    findNonceUse: (sender, nonce, upToHeight) => findNonceUse(rpc, sender, nonce, upToHeight),

    async batchSweeping(treasury, addresses) {
      const delegate = delegateAddress(treasury)
      const [latest, deployer, code, ...answers] = await rpc.ask([
        { method: 'eth_getBlockByNumber', params: ['latest', false] },
        ...[DEPLOYER, delegate, ...addresses].map((of) => ({
          method: 'eth_getCode',
          params: [of, 'latest'],
        })),
        ...addresses.map((of) => ({ method: 'eth_getTransactionCount', params: [of, 'latest'] })),
      ])
      // Blocks carry this hash since Prague (EIP-7685), the upgrade that brought EIP-7702.
      const isPrague = 'requestsHash' in record(resultOf(latest, 'eth_getBlockByNumber'), 'block')
      const codeOf = (answer: RpcAnswer | undefined) => hex(resultOf(answer, 'eth_getCode'), 'code')
      if (!isPrague || codeOf(deployer) === '0x') return null
      return {
        delegate,
        isDeployed: codeOf(code) !== '0x',
        accounts: addresses.map((_, position) => ({
          nonce: quantity(resultOf(answers[addresses.length + position], 'eth_getTransactionCount'), 'nonce'),
          delegates: isDelegatedTo(codeOf(answers[position]), delegate),
        })),
      }
    },

    async close() {
      rpc.close()
      headSocket?.close()
    },
  }

  async function readExecuted(hash: string): Promise<{ block: WireBlock; executed: ExecutedTransaction[] }> {
    const [answer, receipts] = await rpc.ask([
      { method: 'eth_getBlockByHash', params: [hash, true] },
      ...readReceipts.calls(hash),
    ])
    const found = resultOf(answer, 'eth_getBlockByHash')
    if (found === null) {
      throw new OutsideFailure(
        `${node.name} does not have block ${hash}; it may have been reorganised away`,
        {
          retryable: true,
        },
      )
    }
    const block = readWireBlock(found)
    return { block, executed: joinReceipts(block, await readReceipts.read(block, receipts)) }
  }
}

/**
 * A node whose consensus client died says that it does not synchronise, and shows the last block it was given for ever:
 * it sees nothing, so no window may end and no quote begin by it.
 */
function requireRecent(block: unknown, name: string): void {
  const ageMs = Date.now() - Number(quantity(record(block, 'block').timestamp, 'block.timestamp')) * 1_000
  if (ageMs <= HEAD_AGE_MS_MAX) return
  throw new OutsideFailure(
    `${name} shows a last block that is ${Math.round(ageMs / MINUTE_MS)} minutes old; does its consensus client run?`,
    { retryable: true },
  )
}

function identityOf(chainId: bigint, genesisHash: string): string {
  return `${chainId}:${genesisHash}`
}
