/** Counts what long lists begin their pages by, an account a turn. */
import { MINUTE_MS } from '../core/time.ts'
import { sqlState } from '../db/database.ts'
import type { Gateway } from '../flows/gateway.ts'
import { findAccountToRank, forgetRanks, rankPayments } from '../payments/places/payment-ranks.sql.ts'
import { type Loop, startLoop } from './loop.ts'

const CHECK_VIOLATED = '23514'

export function startRanker(gateway: Pick<Gateway, 'db' | 'log'>): Loop {
  return startLoop({
    name: 'rank-payments',
    idleMs: 5 * MINUTE_MS,
    log: gateway.log,
    turn: () => rankNext(gateway),
  })
}

/** @returns Whether there was an account to count. */
export async function rankNext({ db, log }: Pick<Gateway, 'db' | 'log'>): Promise<boolean> {
  const accountId = await findAccountToRank(db)
  if (!accountId) return false
  try {
    await rankPayments(db, accountId)
  } catch (error) {
    // Fewer than none: the counts are not those of the payments. Without them its lists are walked through.
    if (sqlState(error) !== CHECK_VIOLATED) throw error
    log.error({ account: accountId }, 'what was counted of its payments did not fit them; it is counted anew')
    await forgetRanks(db, accountId)
  }
  return true
}
