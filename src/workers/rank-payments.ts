/** Counts what long lists begin their pages by, an account a turn. */
import type { AccountId } from '../core/ids.ts'
import { MINUTE_MS } from '../core/time.ts'
import { sqlState } from '../db/database.ts'
import type { Gateway } from '../flows/gateway.ts'
import { findAccountToRank, forgetRanks, rankPayments } from '../payments/places/payment-ranks.sql.ts'
import { type Loop, startLoop } from './loop.ts'

const CHECK_VIOLATED = '23514'

export function startRanker(gateway: Pick<Gateway, 'db' | 'log'>): Loop {
  const passedOver = new Set<AccountId>()
  return startLoop({
    name: 'rank-payments',
    idleMs: 5 * MINUTE_MS,
    log: gateway.log,
    turn: () => rankNext(gateway, passedOver),
  })
}

/**
 * @param passedOver - Accounts that another worker counts, or whose count failed: the others come first, then they do again.
 * @returns Whether there was an account to count.
 */
export async function rankNext(
  { db, log }: Pick<Gateway, 'db' | 'log'>,
  passedOver: Set<AccountId> = new Set(),
): Promise<boolean> {
  const accountId = await findAccountToRank(db, [...passedOver])
  if (!accountId) {
    passedOver.clear()
    return false
  }
  passedOver.add(accountId)
  try {
    const isMore = await rankPayments(db, accountId)
    if (isMore !== null) passedOver.delete(accountId)
  } catch (error) {
    // Fewer than none: the counts are not those of the payments, and begin anew.
    if (sqlState(error) !== CHECK_VIOLATED) throw error
    log.error({ account: accountId }, 'what was counted of its payments did not fit them; it is counted anew')
    await forgetRanks(db, accountId)
    passedOver.delete(accountId)
  }
  return true
}
