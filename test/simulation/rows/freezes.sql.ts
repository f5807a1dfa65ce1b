import type * as real from '../../../src/ledger/freezes.sql.ts'
import { run } from './tables.ts'

export const isFrozen: typeof real.isFrozen = (db, _chain, asset) =>
  run(db, (tables) => tables.freezes.has(asset))
