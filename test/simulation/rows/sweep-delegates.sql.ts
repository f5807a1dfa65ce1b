import type * as real from '../../../src/treasury/sweep-delegates.sql.ts'
import { membersOf, run } from './tables.ts'

export const wantDelegate: typeof real.wantDelegate = (db, _chain, address) =>
  run(db, (tables) => {
    const before = tables.sweepDelegates.get(address)
    const now = tables.nowMs()
    const row = { replacementSet: before?.replacementSet ?? null, wantedSince: before?.wantedSince ?? now }
    tables.sweepDelegates.set(address, row)
    return { replacementSet: row.replacementSet, wantedMs: now - row.wantedSince }
  })

export const noteDelegate: typeof real.noteDelegate = (db, _chain, address) =>
  run(db, (tables) => {
    const row = tables.sweepDelegates.get(address)
    if (row) tables.sweepDelegates.set(address, { ...row, wantedSince: null })
  })

export const listDeployments: typeof real.listDeployments = (db, _chain, replacementSet) =>
  run(db, (tables) => {
    const now = tables.nowMs()
    return membersOf(tables, replacementSet).map(({ status, createdAt }) => ({
      status,
      ageMs: now - createdAt,
    }))
  })

export const wantDelegateAgain: typeof real.wantDelegateAgain = (tx, _chain, replacementSet) =>
  run(tx, (tables) => {
    for (const [address, row] of [...tables.sweepDelegates])
      if (row.replacementSet === replacementSet)
        tables.sweepDelegates.set(address, { ...row, replacementSet: null })
  })

export const isSweepDelegate: typeof real.isSweepDelegate = (db, _chain, address) =>
  run(db, (tables) =>
    [...tables.sweepDelegates.keys()].some((each) => each.toLowerCase() === address.toLowerCase()),
  )
