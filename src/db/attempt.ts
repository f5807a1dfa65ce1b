/** Work within a transaction whose failure is not the transaction's. */
import type { Tx } from './database.ts'
import { isConflict } from './failures.ts'

/**
 * What the work wrote is undone when it fails, and what was written before it stays. A round trip more. Where others are in the
 * way, the transaction fails all the same, for it is run again.
 *
 * @returns What the work threw; null when it is done.
 */
export async function attempt(tx: Tx, work: () => Promise<void>): Promise<unknown> {
  await tx.query('savepoint attempt')
  try {
    await work()
    return null
  } catch (error) {
    if (isConflict(error)) throw error
    // Of a connection that broke this fails too, and so does the transaction.
    await tx.query('rollback to savepoint attempt')
    return error
  }
}
