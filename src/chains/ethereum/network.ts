/** Which network a node is on, how far it is, and what it charges now. */
import { OutsideFailure } from '../../core/errors.ts'
import { FORKS, type Fork } from '../../core/forks.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { type BlockRef, type FeeRates, WrongChain } from '../chain.ts'
import { type Rpc, take } from '../json-rpc.ts'
import { isUnsupported } from './rpc.ts'
import { isAbsent, list, quantity, readBlockRef, record } from './wire.ts'

export type EthereumNetwork = 'mainnet' | 'sepolia' | 'dev'

/** Chain id and genesis block of the networks that everybody knows. */
const KNOWN_CHAINS: Readonly<Record<Exclude<EthereumNetwork, 'dev'>, string>> = {
  mainnet: identityOf(1n, '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3'),
  sepolia: identityOf(11_155_111n, '0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9'),
}

/** Public networks make a block every 12 seconds; 15 missed in a row do not happen while the chain goes on. */
const HEAD_AGE_MS_MAX = 3 * MINUTE_MS

/** Where a node has no eth_maxPriorityFeePerGas, which is not in the standard. */
const DEFAULT_PRIORITY_FEE_WEI = 1_000_000_000n

export async function readIdentity(rpc: Rpc, network: EthereumNetwork): Promise<string> {
  const [chainId, genesis] = await rpc.batch([
    { method: 'eth_chainId' },
    { method: 'eth_getBlockByNumber', params: ['0x0', false] },
  ])
  const got = identityOf(quantity(take(chainId), 'chain id'), readBlockRef(take(genesis)).hash)
  if (network !== 'dev' && got !== KNOWN_CHAINS[network])
    throw new WrongChain('ethereum', `${network} (${KNOWN_CHAINS[network]})`, got)
  return got
}

/** @param name - How messages call the node. */
export async function readTip(rpc: Rpc, network: EthereumNetwork, name: string): Promise<BlockRef> {
  const [syncing, latest] = await rpc.batch([
    { method: 'eth_syncing' },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ])
  if (network !== 'dev' && take(syncing) !== false) {
    throw new OutsideFailure(`${name} still synchronises; its view of the chain is not used until it has`, {
      retryable: true,
    })
  }
  const block = take(latest)
  if (network !== 'dev') requireRecent(block, name)
  return readBlockRef(block)
}

export async function readFeeRates(rpc: Rpc): Promise<FeeRates> {
  const [history, priority, latest] = await rpc.batch([
    { method: 'eth_feeHistory', params: ['0x1', 'latest', []] },
    { method: 'eth_maxPriorityFeePerGas' },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ])
  // One fee for each block asked for, then the next block's, which follows from the last.
  const isGiven = !priority?.error || !isUnsupported(priority.error)
  const fees = list(record(take(history), 'fee history').baseFeePerGas, 'fee history')
  return {
    kind: 'gas',
    baseFeeWei: quantity(fees.at(-1), 'base fee'),
    priorityFeeWei: isGiven ? quantity(take(priority), 'priority fee') : DEFAULT_PRIORITY_FEE_WEI,
    fork: forkOf(record(take(latest), 'block')),
  }
}

/**
 * What the headers of blocks have since a fork, by any client's name for it: of Prague EIP-7685, of Amsterdam EIP-7928, which Besu
 * called otherwise at first.
 */
const SHOWN_BY: Readonly<Record<Fork, readonly string[]>> = {
  prague: ['requestsHash'],
  amsterdam: ['blockAccessListHash', 'balHash'],
}

/** The newest fork that a block shows, by what its header has. */
const forkOf = (block: Readonly<Record<string, unknown>>): Fork =>
  FORKS.findLast((fork) => SHOWN_BY[fork].some((field) => !isAbsent(block[field]))) ?? FORKS[0]

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
