/** The receipts of a block: what its transactions cost, whether they succeeded, and their logs. */
import type { Log } from '../../core/log.ts'
import { type Rpc, type RpcAnswer, take } from '../json-rpc.ts'
import { isUnsupported } from './rpc.ts'
import { list, readReceipt, type WireBlock, type WireReceipt } from './wire.ts'

const INVALID_PARAMS = -32602

/**
 * Receipts of a whole block in one call, or one call per transaction where the node does not offer that.
 * `calls` are asked together with the block, `read` makes receipts of their answer.
 */
export function createReceiptReader(rpc: Rpc, log: Log) {
  let wholeBlocks = true
  return {
    calls: (hash: string) => (wholeBlocks ? [{ method: 'eth_getBlockReceipts', params: [hash] }] : []),
    async read(block: WireBlock, answer: RpcAnswer | undefined): Promise<WireReceipt[]> {
      const error = answer?.error
      // Some take the number of a block only.
      const isMissing = error !== undefined && (isUnsupported(error) || error.code === INVALID_PARAMS)
      if (answer && !isMissing) {
        const receipts = take(answer)
        if (receipts !== null) return list(receipts, 'receipts').map(readReceipt)
      }
      if (isMissing) {
        wholeBlocks = false
        log.warn(
          { chain: 'ethereum' },
          'the node does not know eth_getBlockReceipts; receipts are asked for one by one',
        )
      }
      const receipts = await rpc.batch(
        block.transactions.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
      )
      return receipts
        .map(take)
        .filter((receipt) => receipt !== null)
        .map(readReceipt)
    },
  }
}
