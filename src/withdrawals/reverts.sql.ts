/** Withdrawals that a block took and that moved nothing. */
import type { Asset } from '../core/assets.ts'
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { runRows } from '../db/together.ts'

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
  const [found] = await runRows<{ count: bigint; here: boolean }>(db, COUNT_REVERTS, [
    { account_id: accountId, asset, destination },
  ])
  return { count: Number(found?.count ?? 0n), here: found?.here ?? false }
}

const COUNT_REVERTS = overRows(
  { account_id: 'uuid', asset: 'text', destination: 'text' },
  (rows) => `select place, count(w.id) as count,
      coalesce(bool_or(w.asset = r.asset and lower(w.destination) = lower(r.destination)), false) as here
    from ${rows} left join withdrawals w on w.account_id = r.account_id and w.refused_reason = 'reverted'
      and w.failed_at > now() - interval '1 day'
    group by place`,
)
