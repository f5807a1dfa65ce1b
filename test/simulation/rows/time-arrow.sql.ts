import type * as real from '../../../src/db/time-arrow.sql.ts'
import type { Arrow } from '../../../src/db/time-arrow.ts'
import { existing, run, type Tables } from './tables.ts'

const ONLY = 'the only one'
const change = (tables: Tables, to: Partial<Arrow>): void => {
  const row = tables.timeArrow.get(ONLY)
  if (row) tables.timeArrow.set(ONLY, { ...row, ...to })
}

export const advanceArrow: typeof real.advanceArrow = (db) =>
  run(db, (tables) => {
    const before = tables.timeArrow.get(ONLY)
    const row = before
      ? { ...before, tick: before.tick + 1n, at: tables.now() }
      : {
          history: 'the only one',
          era: 1,
          tick: 1n,
          timeline: '1',
          at: tables.now(),
          timelines: { 1: 0 },
          stopped: null,
          isMadeSafe: false,
          rememberedEra: 1,
        }
    tables.timeArrow.set(ONLY, row)
    return row
  })

export const readArrow: typeof real.readArrow = (db) =>
  run(db, (tables) => tables.timeArrow.get(ONLY) ?? null)

export const stopMoving: typeof real.stopMoving = (db, reason, remembered) =>
  run(db, (tables) => {
    const row = existing(tables.timeArrow, ONLY)
    const era = remembered?.era ?? 1
    if (row.era > era) return
    const rememberedEra = Math.max(row.rememberedEra, row.era, era)
    tables.timeArrow.set(ONLY, { ...row, stopped: row.stopped ?? reason, rememberedEra })
  })

export const markMadeSafe: typeof real.markMadeSafe = (db) =>
  run(db, (tables) => {
    if (tables.timeArrow.get(ONLY)?.stopped) change(tables, { isMadeSafe: true })
  })

export const beginEra: typeof real.beginEra = (db) =>
  run(db, (tables) => {
    const row = tables.timeArrow.get(ONLY)
    if (!row?.isMadeSafe) return false
    change(tables, { era: Math.max(row.era, row.rememberedEra) + 1, stopped: null, isMadeSafe: false })
    return true
  })
