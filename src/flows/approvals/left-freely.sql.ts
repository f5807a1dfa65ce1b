import { isKeySql } from '../../approvals/asker.ts'
import type { Asset } from '../../core/assets.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'

/**
 * Gross atoms of a coin that a merchant had paid out within a day, or is about to, and that nobody was asked to approve. The
 * signer counts by its own log; this is to know early what it will say.
 *
 * @param besides - Not these.
 * @param withKeys - Whether what keys asked for counts: not where the policy leaves them unbound.
 */
export async function sumLeftFreely(
  db: Queryable,
  accountId: AccountId,
  asset: Asset,
  besides: readonly Pick<Withdrawal, 'id'>[],
  withKeys: boolean,
): Promise<bigint> {
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(w.amount_atoms), 0) as atoms from withdrawals w
     where w.account_id = $1 and w.asset = $2 and w.status <> 'failed' and w.id <> all($3::uuid[])
       and ($4 or not ${isKeySql('w.asked_by')})
       and w.created_at > now() - interval '7 days' and coalesce(w.broadcast_at, w.created_at) > now() - interval '1 day'
       and not exists (select from approval_requests r where r.account_id = w.account_id
         and (r.withdrawal_id = w.id or r.batch_id = w.batch_id))`,
    [accountId, asset, besides.map(({ id }) => id), withKeys],
  )
  return rows[0]?.atoms ?? 0n
}
