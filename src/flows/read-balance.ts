/** What a merchant has: per coin to the atom, in fiat at live rates, and how that went over the last 30 days. */
import type { Account } from '../accounts/account.ts'
import { ASSET_FACTS, ASSETS, type Asset, type Fiat } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { fiatToNumber, formatDecimal } from '../core/money.ts'
import type { Ratio } from '../core/ratio.ts'
import { DAY_MS, utcDay } from '../core/time.ts'
import type { Queryable } from '../db/database.ts'
import { listClosingRates } from '../rates/daily-rates.sql.ts'
import { fiatValue } from '../rates/quote.ts'
import { type BalanceNow, readBalanceNow } from './balance.sql.ts'
import { closesOf } from './close-day.ts'
import type { Gateway } from './gateway.ts'

export interface Figure {
  readonly value: number
  /** 30 days ago. */
  readonly previous: number
  /** 30 days, oldest first, today last. */
  readonly series: readonly { readonly date: string; readonly value: number }[]
}

export interface BalanceView {
  readonly currency: Fiat
  readonly total: Figure
  readonly available: Figure
  readonly pending: Figure
  readonly pending_count: number
  readonly assets: readonly AssetBalance[]
}

export interface AssetBalance {
  readonly asset: Asset
  readonly available_atoms: string
  readonly available: string
  readonly available_fiat: number
  readonly pending_atoms: string
  readonly pending: string
  readonly pending_fiat: number
  readonly unresolved_atoms: string
  readonly unresolved: string
}

const DAYS = 30

interface Close {
  readonly availableMinor: bigint
  readonly pendingMinor: bigint
}

const NOTHING: Close = { availableMinor: 0n, pendingMinor: 0n }

/**
 * The account's balance. Fiat is an estimate: each coin's value at the live rate, rounded down, and the sums of these.
 * `total` is available and pending; what is held for a withdrawal or unresolved is in neither.
 *
 * @throws {Refusal} `unavailable`, `no_rate`, when the account has a coin that has neither a live rate nor one of the last
 *   month.
 */
export async function readBalance(
  gateway: Pick<Gateway, 'rates'>,
  db: Queryable,
  account: Account,
): Promise<BalanceView> {
  const now = await readBalanceNow(db, account.id, account.currency)
  const closes = await closesByDay(db, account, now)
  const rateOf = await ratesFor(gateway, db, account, now)

  const assets = ASSETS.map((asset) => {
    const held = (kind: string) =>
      now.held.find((row) => row.asset === asset && row.kind === kind)?.atoms ?? 0n
    const amounts = {
      available: held('available'),
      pending: now.pending.find((row) => row.asset === asset)?.atoms ?? 0n,
      unresolved: held('unresolved'),
    }
    const value = (atoms: bigint) => (atoms === 0n ? 0n : fiatValue(atoms, asset, rateOf(asset)))
    return {
      asset,
      amounts,
      availableMinor: value(amounts.available),
      pendingMinor: value(amounts.pending),
    }
  })
  const today: Close = {
    availableMinor: sum(assets.map((row) => row.availableMinor)),
    pendingMinor: sum(assets.map((row) => row.pendingMinor)),
  }
  const figure = (of: (close: Close) => bigint): Figure => figureOf(now.today, today, closes, of)

  return {
    currency: account.currency,
    total: figure((close) => close.availableMinor + close.pendingMinor),
    available: figure((close) => close.availableMinor),
    pending: figure((close) => close.pendingMinor),
    pending_count: now.pending.reduce((count, row) => count + row.deposits, 0),
    assets: assets.map(({ asset, amounts, availableMinor, pendingMinor }) => {
      const decimal = (atoms: bigint) => formatDecimal(atoms, ASSET_FACTS[asset].decimals)
      return {
        asset,
        available_atoms: amounts.available.toString(),
        available: decimal(amounts.available),
        available_fiat: fiatToNumber(availableMinor),
        pending_atoms: amounts.pending.toString(),
        pending: decimal(amounts.pending),
        pending_fiat: fiatToNumber(pendingMinor),
        unresolved_atoms: amounts.unresolved.toString(),
        unresolved: decimal(amounts.unresolved),
      }
    }),
  }
}

/** Closes by day. Days that ended and are not closed yet (the first minutes of a day) are worked out here. */
async function closesByDay(
  db: Queryable,
  account: Account,
  now: BalanceNow,
): Promise<ReadonlyMap<string, Close>> {
  const closes = new Map<string, Close>(now.closes.map((close) => [close.day, close]))
  for (let ago = DAYS; ago >= 1; ago--) {
    const day = dayBefore(now.today, ago)
    const isClosed = now.closedThrough !== null && day <= now.closedThrough
    if (isClosed || day < utcDay(account.createdAt)) continue
    const close = (await closesOf(db, day, [account.id])).find(
      ({ currency }) => currency === account.currency,
    )
    closes.set(day, close ?? NOTHING)
  }
  return closes
}

/** Live rates of what the account has; where one is missing, the last one that was known. */
async function ratesFor(
  gateway: Pick<Gateway, 'rates'>,
  db: Queryable,
  account: Account,
  now: BalanceNow,
): Promise<(asset: Asset) => Ratio> {
  const needed = new Set([
    ...now.held.filter((row) => row.kind === 'available' && row.atoms > 0n).map((row) => row.asset),
    ...now.pending.map((row) => row.asset),
  ])
  const live = new Map<Asset, Ratio>()
  let refusal: Refusal | undefined
  for (const asset of needed) {
    try {
      live.set(asset, gateway.rates[account.mode].rate(asset, account.currency).ratio)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refusal = error
    }
  }
  const last = refusal ? await listClosingRates(db, now.today) : []
  return (asset) => {
    const known =
      live.get(asset) ??
      last.find(
        (rate) => rate.mode === account.mode && rate.asset === asset && rate.fiat === account.currency,
      )?.ratio
    if (!known) throw refusal
    return known
  }
}

function figureOf(
  today: string,
  present: Close,
  closes: ReadonlyMap<string, Close>,
  of: (close: Close) => bigint,
): Figure {
  const on = (ago: number): number => {
    const close = ago === 0 ? present : (closes.get(dayBefore(today, ago)) ?? NOTHING)
    return fiatToNumber(of(close))
  }
  return {
    value: on(0),
    previous: on(DAYS),
    series: Array.from({ length: DAYS }, (_, index) => {
      const ago = DAYS - 1 - index
      return { date: dayBefore(today, ago), value: on(ago) }
    }),
  }
}

const dayBefore = (today: string, days: number): string =>
  utcDay(new Date(Date.parse(`${today}T00:00:00Z`) - days * DAY_MS))

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)
