/**
 * The port to Ethereum over JSON-RPC: ether, ether that contracts send, and the `Transfer` logs of exactly the
 * configured USDC and USDT contracts. The mempool is not looked at.
 */
import type { Log } from '../../core/log.ts'
import type { ChainPort } from '../chain.ts'
import { openRpc } from '../json-rpc.ts'
import { readBatchSweeping } from './batch-sweeping.ts'
import { broadcastRaw } from './broadcast.ts'
import { findTransaction } from './find-transaction.ts'
import { createHoldingsReader } from './holdings.ts'
import { type EthereumNetwork, readFeeRates, readIdentity, readTip } from './network.ts'
import { findNonceUse } from './nonce-use.ts'
import { createBlockReader } from './read-block.ts'
import { rehearse } from './rehearse.ts'
import { readNode } from './rpc.ts'
import { openSocket } from './socket.ts'
import type { TokenContracts } from './transactions.ts'
import { hex, quantity, readBlockRef, toQuantity } from './wire.ts'

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

export function createEthereumChain(options: EthereumChainOptions): ChainPort {
  const { log, network } = options
  const node = readNode(options.rpcUrl, ['http:', 'https:', 'ws:', 'wss:'])
  const rpcSocket = node.url.startsWith('ws') ? openSocket(node) : undefined
  const headSocket = options.wsUrl ? openSocket(readNode(options.wsUrl, ['ws:', 'wss:'])) : rpcSocket
  const rpc = openRpc(node, rpcSocket)
  const tokens: TokenContracts = new Map([
    [hex(options.usdcContract, 'USDC_CONTRACT', 20), 'USDC'],
    [hex(options.usdtContract, 'USDT_CONTRACT', 20), 'USDT'],
  ])

  return {
    chain: 'ethereum',
    identity: () => readIdentity(rpc, network),
    tip: () => readTip(rpc, network, node.name),

    async blockHash(height) {
      const block = await rpc.call('eth_getBlockByNumber', [toQuantity(height), false])
      return block === null ? null : readBlockRef(block).hash
    },

    readBlock: createBlockReader(rpc, node.name, tokens, log),
    lookAtMempool: async () => null,
    onHint: (wake) => headSocket?.onHead(wake) ?? (() => {}),
    broadcast: (rawTransaction) => broadcastRaw(rpc, rawTransaction),
    findTransaction: (txid, _, knowing) => findTransaction(rpc, tokens, txid, knowing),
    ...createHoldingsReader(rpc, tokens),
    feeRates: () => readFeeRates(rpc),

    nextNonce: async (address) =>
      quantity(await rpc.call('eth_getTransactionCount', [address, 'latest']), 'nonce'),

    findNonceUse: (sender, nonce, upToHeight) => findNonceUse(rpc, sender, nonce, upToHeight),
    rehearse: (transfers) => rehearse(rpc, tokens, transfers),
    batchSweeping: (treasury, addresses) => readBatchSweeping(rpc, treasury, addresses),

    async close() {
      rpc.close()
      headSocket?.close()
    },
  }
}
