import { ASSETS } from '../../../src/core/assets.ts'
import { DAY_MS } from '../../../src/core/time.ts'
import type { Deposit } from '../../../src/deposits/deposit.ts'
import type * as real from '../../../src/flows/balance/balance.sql.ts'
import type { LedgerAccount } from '../../../src/ledger/chart-of-accounts.ts'
import { type EntryRow, existing, run } from './tables.ts'

export const listAccountIds: typeof real.listAccountIds = (db, after, limit) =>
  run(db, (tables) =>
    [...tables.accounts.values()]
      .map(({ id }) => id)
      .filter((id) => after === null || id > after)
      .sort()
      .slice(0, limit),
  )

export const listBalancesAt: typeof real.listBalancesAt = (db, day, accountIds) =>
  run(db, (tables) => {
    const ended = new Date(Date.parse(day) + DAY_MS)
    const before = [...tables.entries.values()].filter(({ at }) => at < ended)
    return accountIds.flatMap((accountId) =>
      ASSETS.map((asset) => {
        const entries = before.filter((entry) => entry.accountId === accountId)
        const deposits = [...tables.deposits.values()].filter(
          (each) => each.accountId === accountId && each.asset === asset && each.seenAt < ended,
        )
        return {
          accountId,
          mode: existing(tables.accounts, accountId).mode,
          asset,
          availableAtoms:
            sumOf(entries, 'credit', 'available', asset) - sumOf(entries, 'debit', 'available', asset),
          pendingAtoms: deposits.reduce((sum, each) => sum + pendingOf(each, entries), 0n),
        }
      }),
    )
  })

/** What of a deposit that is there was not booked yet. */
function pendingOf(deposit: Deposit, before: readonly EntryRow[]): bigint {
  if (deposit.dust || (deposit.status !== 'seen' && deposit.status !== 'confirmed')) return 0n
  const booked = before.filter(
    ({ cause }) =>
      cause.subjectId === deposit.id && (cause.kind === 'deposit' || cause.kind === 'deposit_reversal'),
  )
  const { asset, amountAtoms } = deposit
  return amountAtoms - sumOf(booked, 'debit', 'wallet', asset) + sumOf(booked, 'credit', 'wallet', asset)
}

const sumOf = (
  entries: readonly EntryRow[],
  side: 'debit' | 'credit',
  account: LedgerAccount,
  asset: string,
): bigint =>
  entries
    .flatMap(({ transfers }) => transfers)
    .filter((transfer) => transfer[side] === account && transfer.asset === asset)
    .reduce((sum, { atoms }) => sum + atoms, 0n)
