import { DAY_MS, MINUTE_MS, utcDay } from '../../../src/core/time.ts'
import type * as real from '../../../src/ledger/daily-balances.sql.ts'
import { FIRST_MS, run } from './tables.ts'

export const insertDailyBalances: typeof real.insertDailyBalances = (db, day, balances) =>
  run(db, (tables) => {
    for (const each of balances) {
      const key = `${each.accountId} ${each.currency} ${day}`
      if (!tables.dailyBalances.has(key) || tables.mutation === 'day-closed-twice')
        tables.dailyBalances.set(key, each)
    }
  })

export const markDayClosed: typeof real.markDayClosed = (db, day) =>
  run(db, (tables) => tables.closedDays.set(day, true))

export const listDaysToClose: typeof real.listDaysToClose = (db) =>
  run(db, (tables) => {
    const days: string[] = []
    const lastMs = tables.nowMs() - MINUTE_MS
    for (let day = FIRST_MS; day + DAY_MS <= lastMs; day += DAY_MS) days.push(utcDay(new Date(day)))
    const open = days.filter((day) => !tables.closedDays.has(day))
    return open.length === 0 && tables.mutation === 'day-closed-twice' ? days : open
  })
