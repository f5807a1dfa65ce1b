import { GATEWAY } from '../../../src/core/gateway-account.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import type * as real from '../../../src/treasury/unexpected-deposits.sql.ts'
import { DEPOSIT_BRANCH } from '../../../src/wallets/derivation.ts'
import { existing, hex, run, type Tables, type UnexpectedDepositRow } from './tables.ts'

export const recordUnexpectedDeposits: typeof real.recordUnexpectedDeposits = (
  tx,
  _chain,
  txKey,
  outputs,
  blockHeight,
) =>
  run(tx, (tables) => {
    for (const { lookup, index, asset, atoms } of outputs) {
      if (atoms === 0n) continue
      const key = `${txKey}:${index}`
      const own = tables.addresses.get(hex(lookup))
      const address = own?.branch === DEPOSIT_BRANCH ? own.address : null
      const sweep = tables.unexpectedDeposits.get(key)?.sweep ?? null
      tables.unexpectedDeposits.set(key, { txKey, index, asset, atoms, blockHeight, address, sweep })
    }
  })

export const forgetUnexpectedDepositsOf: typeof real.forgetUnexpectedDepositsOf = (tx, _chain, txKey) =>
  run(tx, (tables) => {
    const forgotten = [...tables.unexpectedDeposits].filter(([, row]) => row.txKey === txKey)
    for (const [key, row] of forgotten)
      tables.unexpectedDeposits.set(key, { ...row, blockHeight: null, sweep: null })
    return forgotten.flatMap(([, { address, asset, atoms }]) =>
      address !== null && asset === 'ETH' ? [{ address, atoms }] : [],
    )
  })

/** Booked as capital, and where a sweep has yet to take it. */
export const isUnsweptCapital = (
  tables: Tables,
  { address, sweep, blockHeight }: UnexpectedDepositRow,
): boolean =>
  address !== null &&
  sweep === null &&
  blockHeight !== null &&
  [...tables.chains.values()].every(({ capitalHeight }) => blockHeight <= capitalHeight)

export const sumCapitalOutside: typeof real.sumCapitalOutside = (db, _chain, asset) =>
  run(db, (tables) =>
    [...tables.unexpectedDeposits.values()]
      .filter((row) => {
        if (row.asset !== asset || !isBooked(tables, row)) return false
        if (row.blockHeight === null) return true
        if (row.address === null) return false
        const sweep = row.sweep === null ? null : existing(tables.sweeps, row.sweep)
        const isOver = [...tables.signed.values()].every(
          ({ replacementSet, status }) => replacementSet !== sweep?.replacementSet || !isOpen(status),
        )
        return sweep?.status !== 'done' || !isOver
      })
      .reduce((sum, { atoms }) => sum + atoms, 0n),
  )

const isBooked = (tables: Tables, { txKey, index }: UnexpectedDepositRow): boolean =>
  tables.entries.has(`${GATEWAY} capital ${txKey} ${index}`)

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
      .filter((row) => !isBooked(tables, row))
      .map(({ txKey, index, asset, atoms }) => ({ txKey, index, asset, atoms }))
      .slice(0, limit)
  })
