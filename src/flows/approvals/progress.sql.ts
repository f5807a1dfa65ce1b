/** How far requests are, as the signer would count now by what it published: for people to read, never to decide. */
import { STANDING } from '../../approvals/approvals.sql.ts'
import { isAskerSql } from '../../approvals/asker.ts'
import { type AccountId, type ApprovalRequestId, showId, type UserId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

/** As many as were asked for, or as the policy in force wants by now. */
const NEEDED = `case when exists (select from approval_policies p where p.account_id = r.account_id and case
    when r.act in ('policy', 'allow', 'disallow') then p.policy @? '$.coins.*.approvals ? (@ == 2)'
    else exists (select from withdrawals w where w.account_id = r.account_id
      and (w.id = r.withdrawal_id or w.batch_id = r.batch_id) and p.policy->'coins'->w.asset->'approvals' = '2'::jsonb)
  end) then 2 else r.needed end`

/** How many approvals each of some requests of an account needs now. */
export async function readNeeded(
  db: Queryable,
  accountId: AccountId,
  requests: readonly ApprovalRequestId[],
): Promise<Map<ApprovalRequestId, number>> {
  if (requests.length === 0) return new Map()
  const { rows } = await db.query<{ id: ApprovalRequestId; needed: number }>(
    `select r.id, ${NEEDED} as needed from approval_requests r where r.account_id = $1 and r.id = any($2::uuid[])`,
    [accountId, requests],
  )
  return new Map(rows.map(({ id, needed }) => [id, needed] as const))
}

const AWAITING_COUNTED_MAX = 100

/** How many requests of an account wait for a person who may approve, up to {@link AWAITING_COUNTED_MAX}. */
export async function countAwaiting(db: Queryable, accountId: AccountId, userId: UserId): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from approval_requests r
       where r.account_id = $1 and r.status = 'open' and r.valid_until > now() and not ${isAskerSql('r.asked_by', '$3')}
         and exists (select from pinned_approvers p where p.account_id = r.account_id and p.user_id = $2
           and p.removed_at is null and p.counts_from <= now())
         and not $2 = any(array(${STANDING})) and cardinality(array(${STANDING})) < ${NEEDED}
       limit ${AWAITING_COUNTED_MAX}) awaited`,
    [accountId, userId, showId('usr', userId)],
  )
  return rows[0]?.count ?? 0
}
