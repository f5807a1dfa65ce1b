import type * as real from '../../../src/treasury/restore-signed.sql.ts'
import { run } from './tables.ts'

/** A simulated database never forgets what was signed. */
export const listUnknown: typeof real.listUnknown = (db, _chain, txids) =>
  run(db, (tables) => txids.filter((txid) => !tables.signed.has(txid)))
