import { GATEWAY } from '../../../src/ledger/chart-of-accounts.ts'
import type * as real from '../../../src/treasury/unexpected-deposits.sql.ts'
import { existing, run } from './tables.ts'

export const recordUnexpectedDeposits: typeof real.recordUnexpectedDeposits = (
  tx,
  _chain,
  txKey,
  outputs,
  blockHeight,
) =>
  run(tx, (tables) => {
    for (const { index, asset, atoms } of outputs)
      if (atoms > 0n)
        tables.unexpectedDeposits.set(`${txKey}:${index}`, { txKey, index, asset, atoms, blockHeight })
  })

export const forgetUnexpectedDepositsOf: typeof real.forgetUnexpectedDepositsOf = (tx, _chain, txKey) =>
  run(tx, (tables) => {
    for (const [key, row] of [...tables.unexpectedDeposits])
      if (row.txKey === txKey) tables.unexpectedDeposits.set(key, { ...row, blockHeight: null })
  })

export const findCapitalSearch: typeof real.findCapitalSearch = (db, chain, depth) =>
  run(db, (tables) => {
    const { capitalHeight, tipHeight, tipHash } = existing(tables.chains, chain)
    const upToHeight = tipHeight - depth + 1
    return upToHeight > capitalHeight ? { chain, aboveHeight: capitalHeight, upToHeight, tipHash } : null
  })

export const endCapitalSearch: typeof real.endCapitalSearch = (db, search) =>
  run(db, (tables) => {
    const row = existing(tables.chains, search.chain)
    if (row.capitalHeight === search.aboveHeight && row.tipHash === search.tipHash)
      tables.chains.set(search.chain, { ...row, capitalHeight: search.upToHeight })
  })

export const searchCapitalAgain: typeof real.searchCapitalAgain = (tx, chain, aboveHeight) =>
  run(tx, (tables) => {
    const row = existing(tables.chains, chain)
    tables.chains.set(chain, { ...row, capitalHeight: Math.min(row.capitalHeight, aboveHeight) })
  })

/** Capital of chains with outputs is in no story. */
export const listUnbookedCapital: typeof real.listUnbookedCapital = (db, asset, search, limit) =>
  run(db, (tables) => {
    if (asset !== null) return []
    return [...tables.unexpectedDeposits.values()]
      .filter(
        ({ blockHeight }) =>
          blockHeight !== null && blockHeight > search.aboveHeight && blockHeight <= search.upToHeight,
      )
      .map(({ txKey, index, asset, atoms }) => ({ txKey, index, asset, atoms }))
      .filter(({ txKey, index }) => !tables.entries.has(`${GATEWAY} capital ${txKey} ${index}`))
      .slice(0, limit)
  })
