import { GATEWAY } from '../../../src/ledger/journal.ts'
import type * as real from '../../../src/treasury/receipts.sql.ts'
import { existing, run } from './tables.ts'

export const recordReceipts: typeof real.recordReceipts = (tx, _chain, txKey, outputs, blockHeight) =>
  run(tx, (tables) => {
    for (const { index, asset, atoms } of outputs)
      if (atoms > 0n) tables.receipts.set(`${txKey}:${index}`, { txKey, index, asset, atoms, blockHeight })
  })

export const forgetReceipts: typeof real.forgetReceipts = (tx, _chain, aboveHeight) =>
  run(tx, (tables) => {
    for (const [key, row] of [...tables.receipts])
      if (row.blockHeight !== null && row.blockHeight > aboveHeight)
        tables.receipts.set(key, { ...row, blockHeight: null })
  })

export const forgetReceiptsOf: typeof real.forgetReceiptsOf = (tx, _chain, txKey) =>
  run(tx, (tables) => {
    for (const [key, row] of [...tables.receipts])
      if (row.txKey === txKey) tables.receipts.set(key, { ...row, blockHeight: null })
  })

/** Capital of chains with outputs is in no story. */
export const listUnbookedCapital: typeof real.listUnbookedCapital = (db, chain, coin, depth) =>
  run(db, (tables) => {
    if (coin !== null) return []
    const { tipHeight } = existing(tables.chains, chain)
    return [...tables.receipts.values()]
      .filter(({ blockHeight }) => blockHeight !== null && tipHeight - blockHeight + 1 >= depth)
      .map(({ txKey, index, asset, atoms }) => ({
        txKey,
        index,
        asset,
        atoms,
      }))
      .filter(({ txKey, index }) => !tables.entries.has(`${GATEWAY} capital ${txKey} ${index}`))
  })
