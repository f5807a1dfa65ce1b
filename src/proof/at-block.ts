/**
 * The database and a node at one block, without a transaction that is open while the node is asked: the database is read in
 * one snapshot, then the chain as it was at the block that the snapshot stands at.
 */
import type { ChainPort } from '../chains/chain.ts'
import { type ChainProgress, findChainProgress } from '../chains/chain-progress.sql.ts'
import { OutsideFailure } from '../core/errors.ts'
import type { Database, Tx } from '../db/database.ts'

/** Everything the reads of `work` see is of one moment. */
export const inSnapshot = <Result>(db: Database | Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  'inTransaction' in db
    ? work(db)
    : db.transaction(async (tx) => {
        await tx.query('set transaction isolation level repeatable read, read only')
        return work(tx)
      })

const TRIES_MAX = 5

export interface AtOneBlock<Read, Result> {
  /** Reads the database, in one snapshot. Short: no node is asked in it. */
  read(tx: Tx, progress: ChainProgress): Promise<Read>
  /** Asks the node, with no transaction open. */
  ask(read: Read, progress: ChainProgress): Promise<Result>
}

/**
 * Compares our rows of a chain with the chain at one block: the node has the block where our snapshot has it. A node that
 * reads the state of past blocks may go on meanwhile; of any other the tip has to hold still.
 *
 * @returns The result; or why there is none, when the chain did not hold still or the node did not answer.
 */
export async function atOneBlock<Read, Result>(
  db: Database | Tx,
  port: ChainPort,
  { read, ask }: AtOneBlock<Read, Result>,
): Promise<{ readonly result: Result; readonly progress: ChainProgress } | { readonly reason: string }> {
  try {
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      const found = await inSnapshot(db, async (tx) => {
        const progress = await findChainProgress(tx, port.chain)
        return progress && { progress, data: await read(tx, progress) }
      })
      if (!found) continue
      // What a node answers about a block that it does not have is told by the answer, or by the check afterwards.
      if (!readsPastBlocks(port) && !(await standsAt(port, found.progress))) continue
      const result = await ask(found.data, found.progress)
      if (await standsAt(port, found.progress)) return { result, progress: found.progress }
    }
    return { reason: 'its tip moved while it was compared, or Beck is behind it; try again' }
  } catch (error) {
    if (error instanceof OutsideFailure) return { reason: error.message }
    throw error
  }
}

/** Whether a node has the state of past blocks, so that balances can be read at one that is not its tip any more. */
export const readsPastBlocks = (port: ChainPort): boolean => port.etherAt !== undefined

const standsAt = async (port: ChainPort, { tipHeight, tipHash }: ChainProgress): Promise<boolean> =>
  (readsPastBlocks(port) ? await port.blockHash(tipHeight) : (await port.tip()).hash) === tipHash
