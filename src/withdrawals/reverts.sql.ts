/** Withdrawals that a block took and that moved nothing. */
import type { Asset } from '../core/assets.ts'
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'

/**
 * How many withdrawals of the account reverted on Ethereum within the last day, and whether one of this coin to this address
 * did; most requests find none at all.
 */
export async function countReverts(
  db: Queryable,
  accountId: AccountId,
  asset: Asset,
  destination: string,
): Promise<{ readonly count: number; readonly here: boolean }> {
  const { rows } = await db.query<{ count: bigint; here: boolean }>(
    `select count(*) as count, coalesce(bool_or(asset = $2 and lower(destination) = lower($3)), false) as here
     from withdrawals where account_id = $1 and refused_reason = 'reverted' and failed_at > now() - interval '1 day'`,
    [accountId, asset, destination],
  )
  return { count: Number(rows[0]?.count ?? 0n), here: rows[0]?.here ?? false }
}
