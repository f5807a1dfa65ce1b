/** "I already paid": what became of a transaction that a buyer names. */
import { CHAINS } from '../../core/assets.ts'
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
 * Looks among the deposits of all payments that this session ever made: nothing of anybody else's can be found.
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
     from deposits d join payments p on p.account_id = d.account_id and p.id = d.payment_id
     where d.chain = any($2::text[]) and d.tx_key = any($3::text[]) and p.checkout_session_id = $1
     order by d.amount_atoms desc limit 1`,
    [sessionId, CHAINS, [bare, `0x${bare}`]],
  )
  return rows[0] ?? null
}
