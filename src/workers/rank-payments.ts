/** Counts what long lists begin their pages by, an account a turn. */
import { MINUTE_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { findAccountToRank, rankPayments } from '../payments/payment-ranks.sql.ts'
import { type Loop, startLoop } from './loop.ts'

export function startRanker({ db, log }: Pick<Gateway, 'db' | 'log'>): Loop {
  return startLoop({
    name: 'rank-payments',
    idleMs: 5 * MINUTE_MS,
    log,
    async turn() {
      const accountId = await findAccountToRank(db)
      if (accountId) await rankPayments(db, accountId)
      return accountId !== null
    },
  })
}
