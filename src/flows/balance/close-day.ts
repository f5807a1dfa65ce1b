/**
 * The end of a UTC day: what every merchant had then, valued at the day's last rates, is kept for the balance series.
 * What is kept never changes. A day that ended while nobody was there to close it is closed later, as exactly.
 */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import { ASSETS, FIAT_CURRENCIES, type Fiat, MODES, type Mode } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import { type AccountId, showId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import {
  type DailyBalance,
  insertDailyBalances,
  listDaysToClose,
  markDayClosed,
} from '../../ledger/daily-balances.sql.ts'
import { type DailyRate, listClosingRates, recordDailyRates } from '../../rates/daily-rates.sql.ts'
import { fiatValue } from '../../rates/quote.ts'
import type { Rate } from '../../rates/rates.ts'
import type { Gateway } from '../gateway.ts'
import { listAccountIds, listBalancesAt } from './balance.sql.ts'

const ACCOUNTS_AT_ONCE = 200

/** Notes the present rates as the latest of today. A pair that has no rate now keeps the one it had. */
export async function recordRates(gateway: Pick<Gateway, 'db' | 'rates'>): Promise<void> {
  for (const mode of MODES) {
    const rates = ASSETS.flatMap((asset) =>
      FIAT_CURRENCIES.flatMap((fiat) => rateOrNone(() => gateway.rates[mode].rate(asset, fiat))),
    )
    await recordDailyRates(gateway.db, mode, rates)
  }
}

function rateOrNone(read: () => Rate): Rate[] {
  try {
    return [read()]
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'unavailable') return []
    throw error
  }
}

/**
 * Closes the oldest day that waits for it. Two workers that close the same day keep the same rows.
 *
 * @returns Whether a day was closed, so that there may be another.
 */
export async function closeNextDay(gateway: Pick<Gateway, 'db' | 'log'>): Promise<boolean> {
  const [day] = await listDaysToClose(gateway.db)
  if (!day) return false
  let after: AccountId | null = null
  for (;;) {
    const accountIds: AccountId[] = await listAccountIds(gateway.db, after, ACCOUNTS_AT_ONCE)
    if (accountIds.length === 0) break
    after = accountIds.at(-1) ?? null
    const { closes, unsound } = await closesOf(gateway.db, day, accountIds)
    for (const accountId of unsound) await raiseUnsound(gateway, day, accountId)
    await insertDailyBalances(gateway.db, day, closes)
  }
  await markDayClosed(gateway.db, day)
  gateway.log.debug({ day }, 'the day is closed')
  return true
}

async function raiseUnsound(
  { db, log }: Pick<Gateway, 'db' | 'log'>,
  day: string,
  accountId: AccountId,
): Promise<void> {
  const shown = showId('acct', accountId)
  const message = `what account ${shown} had at the end of ${day} is below zero or beyond counting; its balance series leaves the day out`
  await raiseAlert(db, { kind: 'day_not_closed', accountId, subject: `${shown}:${day}`, message })
  log.error({ account: shown, day }, message)
}

/** `daily_balances` keeps minor units in eight bytes. */
const MINOR_MAX = 2n ** 63n - 1n

/**
 * What accounts had when a day ended, in every currency. Each coin's value rounds down, as everywhere that balances are
 * shown; a coin that nobody could price in the month before counts nothing.
 *
 * @returns The closes, and apart from them accounts of which the ledger gives no sum that could be one: they stop nobody
 *   else's.
 */
export async function closesOf(
  db: Queryable,
  day: string,
  accountIds: readonly AccountId[],
): Promise<{ closes: DailyBalance[]; unsound: ReadonlySet<AccountId> }> {
  const rates = await listClosingRates(db, day)
  const closes = new Map<string, DailyBalance>()
  const unsound = new Set<AccountId>()
  for (const each of await listBalancesAt(db, day, accountIds)) {
    if (each.availableAtoms < 0n || each.pendingAtoms < 0n) {
      unsound.add(each.accountId)
      continue
    }
    for (const currency of FIAT_CURRENCIES) {
      const rate = closingRate(rates, each.mode, each.asset, currency)
      const value = (atoms: bigint) => (rate ? fiatValue(atoms, each.asset, rate.ratio) : 0n)
      const key = `${each.accountId} ${currency}`
      const sum = closes.get(key)
      const availableMinor = (sum?.availableMinor ?? 0n) + value(each.availableAtoms)
      const pendingMinor = (sum?.pendingMinor ?? 0n) + value(each.pendingAtoms)
      if (availableMinor > MINOR_MAX || pendingMinor > MINOR_MAX) unsound.add(each.accountId)
      closes.set(key, { accountId: each.accountId, currency, availableMinor, pendingMinor })
    }
  }
  return { closes: [...closes.values()].filter(({ accountId }) => !unsound.has(accountId)), unsound }
}

export const closingRate = (rates: readonly DailyRate[], mode: Mode, asset: string, fiat: Fiat) =>
  rates.find((rate) => rate.mode === mode && rate.asset === asset && rate.fiat === fiat)
