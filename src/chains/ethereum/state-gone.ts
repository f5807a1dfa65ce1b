/** Whether a node answered that it has the state of a block no longer. */
import { type NodeError, type Rpc, type RpcCall, take } from '../json-rpc.ts'
import { isLimited, isReverted } from './rpc.ts'
import { readBlockRef } from './wire.ts'

/** A full node keeps the state of the last 128 blocks; within half of that, missing state is a passing trouble. */
const STATE_DEPTH_BLOCKS = 64
const STATE_GONE =
  /missing trie node|pruned|no state found|state .*(not available|unavailable|missing)|state is not|historical state|old data|distance to target block|BlockOutOfRange/i

/**
 * Clients word it in many ways. Where the words are unknown, the state is gone when the block is deep and the same
 * question about the latest block is answered.
 *
 * @param latestCall - That question.
 */
export async function isStateGone(
  rpc: Rpc,
  height: number,
  error: NodeError,
  latestCall: RpcCall,
): Promise<boolean> {
  // Code runs on state that is there.
  if (isReverted(error) || isLimited(error)) return false
  if (STATE_GONE.test(error.answer)) return true
  const [latest, sample] = await rpc.batch([
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
    latestCall,
  ])
  const { height: tip } = readBlockRef(take(latest))
  return sample !== undefined && !sample.error && tip - height >= STATE_DEPTH_BLOCKS
}
