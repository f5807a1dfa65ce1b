/** The days before today in a balance: 29 closes and the value of 30 days ago. */
import type { Account } from '../../accounts/account.ts'
import { fiatToNumber } from '../../core/money.ts'
import { DAY_MS, utcDay } from '../../core/time.ts'
import type { Queryable } from '../../db/database.ts'
import { type Close, findLastClosedDay, listCloses } from '../../ledger/daily-balances.sql.ts'
import { closesOf } from './close-day.ts'

export interface PastFigure {
  /** 30 days ago. */
  readonly previous: number
  /** The 29 days before today, oldest first. */
  readonly series: readonly { readonly date: string; readonly value: number }[]
}

type Past = Readonly<Record<'total' | 'available' | 'pending', PastFigure>>

const DAYS = 30
const KNOWN_MAX = 10_000

/**
 * Pasts already read, by account and currency. Closed days never change, so what is known stays right until the next
 * day begins.
 */
const known = new Map<string, { readonly today: string; readonly past: Past }>()

/** @param today - `YYYY-MM-DD`, UTC, by the database's clock. */
export async function readPast(db: Queryable, account: Account, today: string): Promise<Past> {
  const key = `${account.id} ${account.currency}`
  const found = known.get(key)
  if (found?.today === today) return found.past

  const lastClosed = await findLastClosedDay(db)
  const closed = await listCloses(db, account.id, account.currency, dayBefore(today, DAYS))
  const closes = new Map(closed.map((close) => [close.day, close]))
  for (const day of openDays(account, today, lastClosed)) {
    const found = await closesOf(db, day, [account.id])
    const close = found.closes.find(({ currency }) => currency === account.currency)
    closes.set(day, { day, availableMinor: 0n, pendingMinor: 0n, ...close })
  }
  const past = {
    total: figureOf(today, closes, (close) => close.availableMinor + close.pendingMinor),
    available: figureOf(today, closes, (close) => close.availableMinor),
    pending: figureOf(today, closes, (close) => close.pendingMinor),
  }
  if (lastClosed !== null && lastClosed >= dayBefore(today, 1)) {
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(key, { today, past })
  }
  return past
}

/** Days that ended and are not closed yet: the first minutes of a day, or longer when no worker runs. */
function openDays(account: Account, today: string, lastClosed: string | null): string[] {
  const days = Array.from({ length: DAYS }, (_, index) => dayBefore(today, DAYS - index))
  return days.filter((day) => (lastClosed === null || day > lastClosed) && day >= utcDay(account.createdAt))
}

function figureOf(
  today: string,
  closes: ReadonlyMap<string, Close>,
  of: (close: Close) => bigint,
): PastFigure {
  const on = (day: string): number => {
    const close = closes.get(day)
    return close ? fiatToNumber(of(close)) : 0
  }
  return {
    previous: on(dayBefore(today, DAYS)),
    series: Array.from({ length: DAYS - 1 }, (_, index) => {
      const date = dayBefore(today, DAYS - 1 - index)
      return { date, value: on(date) }
    }),
  }
}

const dayBefore = (today: string, days: number): string =>
  utcDay(new Date(Date.parse(`${today}T00:00:00Z`) - days * DAY_MS))
