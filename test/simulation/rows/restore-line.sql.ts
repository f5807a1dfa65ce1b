import type * as real from '../../../src/signer/restore-line.sql.ts'
import { run } from './tables.ts'

export const listUnknown: typeof real.listUnknown = (db, _chain, txids) =>
  run(db, (tables) => txids.filter((txid) => !tables.signed.has(txid)))

export const restoreLine: typeof real.restoreLine = async () => {
  throw new Error('a simulated database never forgets what was signed')
}
