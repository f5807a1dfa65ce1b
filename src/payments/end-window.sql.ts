import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { anyRow } from '../db/rows.ts'

/**
 * Ends a payment's window now, by the database's clock.
 *
 * @returns Whether there was a window to end: the payment still waits for funds, and its time is not over.
 */
export const endWindow = (tx: Tx, accountId: AccountId, id: PaymentId): Promise<boolean> =>
  anyRow(
    tx,
    `update payments set expires_at = date_trunc('milliseconds', clock_timestamp())
     where account_id = $1 and id = $2 and status in ('pending', 'detected', 'underpaid')
       and expires_at > clock_timestamp()`,
    [accountId, id],
  )
