/**
 * A regtest node for a chain: bitcoind for Bitcoin where one is installed; elsewhere a litecoind that is dressed as one,
 * which accepts replacements by the same rules.
 */
import { createHash } from 'node:crypto'
import { bech32, bech32m, createBase58check } from '@scure/base'
import { type BitcoinLike, bitcoinNetwork } from '../src/chains/bitcoin/networks.ts'
import { installedChains, type Node, startNode } from './litecoind.ts'
import { type NodeProxy, startNodeProxy } from './node-proxy.ts'

export interface NodeOf {
  readonly node: Node
  /** What Beck talks to. */
  readonly proxy: NodeProxy
  /** An address of Beck's as the node reads it. */
  forNode(address: string): string
  /** An address of the node's as Beck reads it. */
  forBeck(address: string): string
}

export async function startNodeOf(chain: BitcoinLike): Promise<NodeOf> {
  const isDressed = chain === 'bitcoin' && !(await installedChains()).includes('bitcoin')
  const node = await startNode({ chain: isDressed ? 'litecoin' : chain })
  const proxy = await startNodeProxy(node.rpcUrl, isDressed ? dressed : undefined)
  return {
    node,
    proxy,
    forNode: (address) => rewritten(address, bitcoinNetwork(node.chain, 'regtest').bech32),
    forBeck: (address) => rewritten(address, bitcoinNetwork(chain, 'regtest').bech32),
  }
}

/** A litecoind on regtest speaks as bitcoind does; only its genesis block is another. */
function dressed(method: string, params: readonly unknown[], result: unknown): unknown {
  return method === 'getblockhash' && params[0] === 0
    ? bitcoinNetwork('bitcoin', 'regtest').genesisHash
    : result
}

/** The same script's address as another network writes it. */
function rewritten(address: string, prefix: string): string {
  const text = address as `${string}1${string}`
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(text)
    if (decoded) return coder.encode(prefix, decoded.words)
  }
  const [version, ...hash] = base58check.decode(address)
  // Litecoin writes script hashes with a byte that Bitcoin does not know, and reads both.
  const [written = 0] = bitcoinNetwork('bitcoin', 'regtest').scriptHashes
  const { scriptHashes } = bitcoinNetwork('litecoin', 'regtest')
  const isScript = scriptHashes.some((each) => each === version)
  return base58check.encode(Uint8Array.of(isScript && prefix === 'bcrt' ? written : (version ?? 0), ...hash))
}

const base58check = createBase58check((bytes: Uint8Array) => createHash('sha256').update(bytes).digest())
