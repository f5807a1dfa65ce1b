/** What a merchant has: per coin to the atom, in fiat at live rates, and how that went over the last 30 days. */
import type { Account } from '../../accounts/account.ts'
import { ASSETS, type Asset } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import { fiatToNumber, formatAmount } from '../../core/money.ts'
import type { Ratio } from '../../core/ratio.ts'
import type { Queryable } from '../../db/database.ts'
import { listClosingRates } from '../../rates/daily-rates.sql.ts'
import { fiatValue } from '../../rates/quote.ts'
import type { Gateway } from '../gateway.ts'
import { ratesOf } from '../payments/rates-of.ts'
import { type BalanceNow, readBalanceNow } from './balance.sql.ts'
import { closingRate } from './close-day.ts'
import { type PastFigure, readPast } from './past-balance.ts'

/**
 * The account's balance. Fiat is an estimate: each coin's value at the live rate, rounded down, and the sums of these.
 * `total` is available and pending; what is held for a withdrawal or unresolved is in neither.
 *
 * @throws {Refusal} `unavailable`, `no_rate`, when the account has a coin that has neither a live rate nor one of the last
 *   month.
 */
export async function readBalance(gateway: Pick<Gateway, 'rates'>, db: Queryable, account: Account) {
  const now = await readBalanceNow(db, account.id)
  const past = await readPast(db, account, now.today)
  const rateOf = await ratesFor(gateway, db, account, now)

  let availableMinor = 0n
  let pendingMinor = 0n
  const assets = ASSETS.map((asset) => {
    const amounts = amountsOf(now, asset)
    const value = (atoms: bigint) => (atoms === 0n ? 0n : fiatValue(atoms, asset, rateOf(asset)))
    const decimal = (atoms: bigint) => formatAmount(atoms, asset)
    const values = { available: value(amounts.available), pending: value(amounts.pending) }
    availableMinor += values.available
    pendingMinor += values.pending
    return {
      asset,
      available_atoms: amounts.available.toString(),
      available: decimal(amounts.available),
      available_fiat: fiatToNumber(values.available),
      pending_atoms: amounts.pending.toString(),
      pending: decimal(amounts.pending),
      pending_fiat: fiatToNumber(values.pending),
      unresolved_atoms: amounts.unresolved.toString(),
      unresolved: decimal(amounts.unresolved),
    }
  })
  // Of 30 days, today last.
  const figure = ({ previous, series }: PastFigure, minor: bigint) => {
    const value = fiatToNumber(minor)
    return { value, previous, series: [...series, { date: now.today, value }] }
  }
  return {
    currency: account.currency,
    total: figure(past.total, availableMinor + pendingMinor),
    available: figure(past.available, availableMinor),
    pending: figure(past.pending, pendingMinor),
    pending_count: now.pending.reduce((count, row) => count + row.deposits, 0),
    assets,
  }
}

function amountsOf(now: BalanceNow, asset: Asset) {
  const balanceOf = (kind: string) =>
    now.balances.find((row) => row.asset === asset && row.kind === kind)?.atoms ?? 0n
  return {
    available: balanceOf('available'),
    pending: now.pending.find((row) => row.asset === asset)?.atoms ?? 0n,
    unresolved: balanceOf('unresolved'),
  }
}

/** Live rates of what the account has; where one is missing, the last one that was known. */
async function ratesFor(
  gateway: Pick<Gateway, 'rates'>,
  db: Queryable,
  account: Account,
  now: BalanceNow,
): Promise<(asset: Asset) => Ratio> {
  const needed = new Set([
    ...now.balances.filter((row) => row.kind === 'available' && row.atoms > 0n).map((row) => row.asset),
    ...now.pending.map((row) => row.asset),
  ])
  const live = new Map<Asset, Ratio>()
  let refusal: Refusal | undefined
  for (const asset of needed) {
    try {
      live.set(asset, ratesOf(gateway, account).rate(asset, account.currency).ratio)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refusal = error
    }
  }
  const last = refusal ? await listClosingRates(db, now.today) : []
  return (asset) => {
    const known = live.get(asset) ?? closingRate(last, account.mode, asset, account.currency)?.ratio
    if (!known) throw refusal
    return known
  }
}
