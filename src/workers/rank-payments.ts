/** Counts what long lists begin their pages by, an account a turn. */
import { type AccountId, showId } from '../core/ids.ts'
import { MINUTE_MS } from '../core/time.ts'
import { sqlState } from '../db/failures.ts'
import { CHECK_VIOLATION } from '../db/sqlstate.ts'
import type { Gateway } from '../flows/gateway.ts'
import { findAccountToRank, forgetRanks, rankPayments } from '../payments/places/payment-ranks.sql.ts'
import { type Loop, startLoop } from './loop.ts'

/** An account is passed over for so long, or until no other is due. */
const PASSED_OVER_MS = 5 * MINUTE_MS

/** Since when accounts are passed over, by `performance.now()`. */
type PassedOver = Map<AccountId, number>

export function startRanker(gateway: Pick<Gateway, 'db' | 'log'>): Loop {
  const passedOver: PassedOver = new Map()
  return startLoop({
    name: 'rank-payments',
    idleMs: 5 * MINUTE_MS,
    log: gateway.log,
    turn: () => rankNext(gateway, passedOver),
  })
}

/**
 * @param passedOver - Accounts that another worker counts, or whose count failed: the others come first.
 * @returns Whether there was an account to count.
 */
export async function rankNext(
  { db, log }: Pick<Gateway, 'db' | 'log'>,
  passedOver: PassedOver = new Map(),
): Promise<boolean> {
  for (const [id, sinceMs] of passedOver)
    if (performance.now() - sinceMs > PASSED_OVER_MS) passedOver.delete(id)
  const accountId = await findAccountToRank(db, [...passedOver.keys()])
  if (!accountId) {
    passedOver.clear()
    return false
  }
  passedOver.set(accountId, performance.now())
  try {
    const isMore = await rankPayments(db, accountId)
    if (isMore !== null) passedOver.delete(accountId)
  } catch (error) {
    // Fewer than none: the counts are not those of the payments, and begin anew.
    if (sqlState(error) !== CHECK_VIOLATION) throw error
    log.error(
      { account: showId('acct', accountId) },
      'what was counted of its payments did not fit them; it is counted anew',
    )
    await forgetRanks(db, accountId)
  }
  return true
}
