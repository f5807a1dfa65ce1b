/** What waits in the node's mempool, look by look: each transaction is handed over once while it stays. */
import { OutsideFailure } from '../../core/errors.ts'
import { member } from '../../core/json.ts'
import { SECOND_MS } from '../../core/time.ts'
import type { ChainTransaction, Mempool } from '../chain.ts'

import { take } from '../json-rpc.ts'
import { type CoreRpc, RPC_INVALID_ADDRESS_OR_KEY } from './rpc.ts'

/** A standard transaction is at most 100 kB: a batch never weighs more than 20 MB of hex. */
const BATCH = 100
/** The list of a full mempool (300,000 names) takes a busy node seconds. */
const LIST_TIMEOUT_MS = 20 * SECOND_MS

export interface MempoolLooks {
  look(ledSince: bigint): Promise<Mempool>
}

/**
 * @param read - Turns raw bytes into what the port shows; null for what lives in the MWEB alone.
 */
export function lookOver(
  rpc: CoreRpc,
  read: (rawHex: string, txid: string) => ChainTransaction | null,
): MempoolLooks {
  // Only what the caller took in counts as handed over: when he fails in the middle, the next look shows the rest.
  const handedOver = new Set<string>()
  let shownSince: bigint | null = null

  async function* added(fresh: readonly string[]): AsyncGenerator<readonly ChainTransaction[]> {
    for (let from = 0; from < fresh.length; from += BATCH) {
      const txids = fresh.slice(from, from + BATCH)
      const answers = await rpc.batch(
        txids.map((txid) => ({ method: 'getrawtransaction', params: [txid, false] })),
        { timeoutMs: LIST_TIMEOUT_MS },
      )
      const found: string[] = []
      const transactions: ChainTransaction[] = []
      for (const [i, txid] of txids.entries()) {
        const answer = answers[i]
        // It left the mempool since the list was read: into a block, or out of the way of another.
        if (answer?.error?.code === RPC_INVALID_ADDRESS_OR_KEY) continue
        found.push(txid)
        const transaction = read(String(take(answer)), txid)
        if (transaction) transactions.push(transaction)
      }
      if (transactions.length > 0) yield transactions
      for (const txid of found) handedOver.add(txid)
    }
  }

  return {
    async look(ledSince) {
      if (ledSince !== shownSince) handedOver.clear()
      shownSince = ledSince
      const [info, list] = await rpc.batch(
        [{ method: 'getmempoolinfo' }, { method: 'getrawmempool', params: [false] }],
        { timeoutMs: LIST_TIMEOUT_MS },
      )
      // For a while after a restart transactions are missing that nobody dropped, and the view would not be complete.
      if (member(take(info), 'loaded') === false)
        throw new OutsideFailure(`the node at ${rpc.endpoint} still loads its mempool`, { retryable: true })
      const names = take(list)
      if (!Array.isArray(names))
        throw new OutsideFailure('getrawmempool answered no list', { retryable: true })
      const present = new Set<string>(names)
      for (const txid of handedOver) if (!present.has(txid)) handedOver.delete(txid)
      const fresh = [...present].filter((txid) => !handedOver.has(txid))
      return { added: added(fresh), has: (txid) => present.has(txid) }
    },
  }
}
