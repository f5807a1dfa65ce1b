import type * as real from '../../../src/ledger/freezes.sql.ts'
import { run } from './tables.ts'

export const isFrozen: typeof real.isFrozen = (db, _chain, asset) =>
  run(db, (tables) => tables.freezes.has(asset))

/** Whatever the chain: simulated ones stand for live ones in a story. */
export const freeze: typeof real.freeze = (db, _chain, asset) =>
  run(db, (tables) => {
    if (tables.freezes.has(asset)) return false
    tables.freezes.set(asset, true)
    return true
  })

export const thaw: typeof real.thaw = (db, _chain, asset) =>
  run(db, (tables) => {
    const isThere = tables.freezes.has(asset)
    tables.freezes.delete(asset)
    return isThere
  })
