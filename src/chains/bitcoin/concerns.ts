/** What is worth a word about a node that works: a setting that costs something, and what the node itself warns of. */

import { member } from '../../core/json.ts'
import type { NodeConcern } from '../chain.ts'

import { take } from '../json-rpc.ts'
import type { CoreRpc } from './rpc.ts'

export async function concernsOf(rpc: CoreRpc): Promise<readonly NodeConcern[]> {
  const [chain, network] = await rpc.batch([{ method: 'getblockchaininfo' }, { method: 'getnetworkinfo' }])
  const concerns: NodeConcern[] = []
  if (member(take(network), 'localrelay') === false)
    concerns.push({
      problem: 'relays blocks only: no payment shows before its first block, and no fee is estimated',
      advice: 'take blocksonly out of its configuration',
    })
  // One text before Bitcoin Core 28, a list since.
  for (const warning of new Set([member(take(chain), 'warnings')].flat())) {
    if (typeof warning === 'string' && warning !== '')
      concerns.push({ problem: `warns: ${warning}`, advice: 'look into its log, or install a newer version' })
  }
  return concerns
}
