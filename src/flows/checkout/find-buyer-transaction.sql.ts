/** "I already paid": what became of a transaction that a buyer names. */
import type { SessionId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import type { DepositStatus } from '../../deposits/deposit.ts'
import type { PaymentStatus } from '../../payments/payment.ts'

export interface BuyerTransaction {
  readonly status: DepositStatus
  readonly late: boolean
  readonly dust: boolean
  readonly paymentStatus: PaymentStatus
}

const HASH = /^(0x)?[0-9a-f]{64}$/

/** The transaction id as chains write it, from what a buyer typed; null when it is none. Explorer links are read too. */
export function readTransactionId(text: string): string | null {
  const parts = text.trim().toLowerCase().split(/[/?#]/)
  return parts.findLast((part) => HASH.test(part)) ?? null
}

/**
 * Looks among the deposits of all payments that this session ever made, found by the index on their session: nothing of anybody
 * else's can be found. Ether that a contract passed on has a key of its own, beside the hash that the page shows.
 *
 * @param hash - Of {@link readTransactionId}, with or without 0x.
 */
export async function findBuyerTransaction(
  db: Queryable,
  sessionId: SessionId,
  hash: string,
): Promise<BuyerTransaction | null> {
  const bare = hash.replace(/^0x/, '')
  const { rows } = await db.query<BuyerTransaction>(
    `select d.status, d.late, d.dust, p.status as "paymentStatus"
     from checkout_sessions s
       join payments p on p.account_id = s.account_id and p.checkout_session_id = s.id
       join deposits d on d.account_id = p.account_id and d.payment_id = p.id
     where s.id = $1 and (d.tx_key = any($2::text[]) or d.tx_hash = any($2::text[]))
     order by d.amount_atoms desc limit 1`,
    [sessionId, [bare, `0x${bare}`]],
  )
  return rows[0] ?? null
}
