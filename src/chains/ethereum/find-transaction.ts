/** Where a transaction is now, and what it did. */
import type { FoundTransaction } from '../chain.ts'
import { type Rpc, take } from '../json-rpc.ts'
import { type TokenContracts, tokenTransferOf, toLookup } from './transactions.ts'
import { readReceipt } from './wire.ts'

export async function findTransaction(
  rpc: Rpc,
  tokens: TokenContracts,
  txid: string,
): Promise<FoundTransaction | null> {
  const [receipt, transaction] = await rpc.batch([
    { method: 'eth_getTransactionReceipt', params: [txid] },
    { method: 'eth_getTransactionByHash', params: [txid] },
  ])
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
