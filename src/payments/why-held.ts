/** Why funds of a payment are held until somebody decides, as pages and mails say it. */
import { isPaid, type Payment } from './payment.ts'
import type { HeldFunds } from './unresolved-funds.sql.ts'

/** `beyond` a price that is covered; no more than `too_little`; only `other_coin`s than was asked; `late`, when it waited no more. */
export type WhyHeld = 'beyond' | 'other_coin' | 'too_little' | 'late'

/** @param held - At least one coin's. */
export function whyHeld(
  { status, asset }: Pick<Payment, 'status' | 'asset'>,
  held: readonly HeldFunds[],
): WhyHeld {
  if (isPaid(status)) return 'beyond'
  if (held.every((funds) => funds.asset !== asset)) return 'other_coin'
  return status === 'underpaid' ? 'too_little' : 'late'
}
