/** Blocks, read whole and by hash: what transactions pay, what tokens they move, and the ether that contracts send. */
import { OutsideFailure } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Block, ReadBlockOptions } from '../chain.ts'
import { type Rpc, take } from '../json-rpc.ts'
import { clearSource, creditTransaction } from './contract-ether.ts'
import { createCreditReader } from './credit-reader.ts'
import { createReceiptReader } from './receipts.ts'
import { createTracing } from './traces.ts'
import { type ExecutedTransaction, joinReceipts, shownOf, type TokenContracts } from './transactions.ts'
import { hex, readWireBlock, type WireBlock } from './wire.ts'

/** @param name - How messages call the node. */
export function createBlockReader(rpc: Rpc, name: string, tokens: TokenContracts, log: Log) {
  const readReceipts = createReceiptReader(rpc, log)
  const trace = createTracing(rpc, log)
  const readCredits = createCreditReader(rpc, log)

  return async (hash: string, { accounts = [] }: ReadBlockOptions = {}): Promise<Block> => {
    const { block, executed } = await readExecuted(hash)
    const transactions = executed.map((one) => shownOf(one, tokens))
    const read: Block = { ...block, transactions }
    // The genesis block has no state before it.
    if (accounts.length === 0 || block.height === 0) return read
    const watched = [...new Set(accounts.map((account) => hex(account, 'address', 20)))]
    const { credits, missed } = await readCredits(block, executed, watched)
    const compared = missed.length > 0 ? { ...read, missedAccounts: missed } : read
    if (credits.length === 0) return compared
    const traced = (await trace(block)) ?? []
    return {
      ...compared,
      transactions: transactions.concat(
        credits.map((credit) => creditTransaction(block, credit, clearSource(credit, traced))),
      ),
    }
  }

  async function readExecuted(hash: string): Promise<{ block: WireBlock; executed: ExecutedTransaction[] }> {
    const [answer, receipts] = await rpc.batch([
      { method: 'eth_getBlockByHash', params: [hash, true] },
      ...readReceipts.calls(hash),
    ])
    const found = take(answer)
    if (found === null) {
      throw new OutsideFailure(`${name} does not have block ${hash}; it may have been reorganised away`, {
        retryable: true,
      })
    }
    const block = readWireBlock(found)
    return { block, executed: joinReceipts(block, await readReceipts.read(block, receipts)) }
  }
}
