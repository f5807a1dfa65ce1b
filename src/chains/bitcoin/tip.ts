/** The node's best block, believed only of a node that sees the network. */
import { OutsideFailure } from '../../core/errors.ts'
import { member } from '../../core/json.ts'
import { MINUTE_MS, SECOND_MS } from '../../core/time.ts'
import { type BlockRef, WrongChain } from '../chain.ts'
import { take } from '../json-rpc.ts'
import { count, text } from './answers.ts'
import type { BitcoinLike, BitcoinNetwork } from './networks.ts'
import type { CoreRpc } from './rpc.ts'

/** Headers the node may know without their blocks, as it does for a moment whenever a block arrives. */
const BLOCKS_BEHIND_MAX = 3

/**
 * @throws {WrongChain} when the node is on another network.
 * @throws {OutsideFailure} while it syncs, has no peers, or shows a last block that is too old: no window may end and no quote
 *   begin by what it does not see.
 */
export function tipReader(
  rpc: CoreRpc,
  network: BitcoinNetwork,
  chain: BitcoinLike,
): () => Promise<BlockRef> {
  let last = { hash: '', timeMs: 0 }
  return async () => {
    const tip = await readTip(rpc, network, chain)
    if (network.tipAgeMsMax === undefined) return tip
    if (last.hash !== tip.hash) last = { hash: tip.hash, timeMs: await timeOf(rpc, tip.hash) }
    const ageMs = Date.now() - last.timeMs
    if (ageMs <= network.tipAgeMsMax) return tip
    throw new OutsideFailure(
      `the node at ${rpc.endpoint} shows a last block that is ${Math.round(ageMs / MINUTE_MS)} minutes old; does it still hear from its peers, and is the clock of this machine right?`,
      { retryable: true },
    )
  }
}

async function readTip(rpc: CoreRpc, network: BitcoinNetwork, chain: BitcoinLike): Promise<BlockRef> {
  const [chainAnswer, networkAnswer] = await rpc.batch([
    { method: 'getblockchaininfo' },
    { method: 'getnetworkinfo' },
  ])
  const info = take(chainAnswer)
  const chainName = text(member(info, 'chain'))
  if (chainName !== network.chainName) throw new WrongChain(chain, network.chainName, chainName)
  const height = count(member(info, 'blocks'))
  if (!network.isPrivate) {
    const behind = count(member(info, 'headers')) - height
    if (member(info, 'initialblockdownload') === true || behind > BLOCKS_BEHIND_MAX)
      throw new OutsideFailure(
        `the node at ${rpc.endpoint} still syncs: ${behind} blocks behind its headers`,
        {
          retryable: true,
        },
      )
    if (count(member(take(networkAnswer), 'connections')) === 0)
      throw new OutsideFailure(`the node at ${rpc.endpoint} has no peers and sees no news`, {
        retryable: true,
      })
  }
  return { height, hash: text(member(info, 'bestblockhash')) }
}

/** What its miner wrote: at most two hours ahead of the network's time, hardly ever behind it. Core tells it with the tip since 23 only. */
async function timeOf(rpc: CoreRpc, hash: string): Promise<number> {
  return count(member(await rpc.call('getblockheader', [hash, true]), 'time')) * SECOND_MS
}
