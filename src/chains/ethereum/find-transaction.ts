/** Where a transaction is now, and what it did. */
import { OutsideFailure } from '../../core/errors.ts'
import type { FoundTransaction } from '../chain.ts'
import { type Rpc, take } from '../json-rpc.ts'
import { type TokenContracts, tokenTransferOf, toLookup } from './transactions.ts'
import { readReceipt } from './wire.ts'

export async function findTransaction(
  rpc: Rpc,
  tokens: TokenContracts,
  txid: string,
  knowing?: string,
): Promise<FoundTransaction | null> {
  // One exchange is with one node.
  const [receipt, transaction, block] = await rpc.batch([
    { method: 'eth_getTransactionReceipt', params: [txid] },
    { method: 'eth_getTransactionByHash', params: [txid] },
    ...(knowing === undefined ? [] : [{ method: 'eth_getBlockByHash', params: [knowing, false] }]),
  ])
  if (knowing !== undefined && take(block) === null)
    throw new OutsideFailure(`the node that was asked for ${txid} does not have block ${knowing}`, {
      retryable: true,
    })
  const found = take(receipt)
  if (found === null) return take(transaction) === null ? null : { block: null }
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
