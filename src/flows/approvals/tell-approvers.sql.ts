/** Who has to be told of requests, and of what became of changes. */
import type { AccountId, ApprovalRequestId, UserId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { allRows } from '../../db/rows.ts'

export interface Reader {
  readonly userId: UserId
  readonly email: string
}

/** People of an account's team who are not disabled and have one of these roles. */
export const membersWithRoles = (
  tx: Tx,
  accountId: AccountId,
  roles: readonly string[],
): Promise<(Reader & { readonly merchant: string })[]> =>
  allRows(
    tx,
    `select u.id as "userId", u.email, m.name as merchant from merchants m
       join members x on x.merchant_id = m.id and x.role = any($2::text[])
       join users u on u.id = x.user_id and u.disabled_at is null
     where $1 in (m.live_account_id, m.test_account_id) order by u.email`,
    [accountId, roles],
  )

/** Changes of what guards the money that came into force within the day and that no mail told of yet. */
export const listUntoldChanges = (
  tx: Tx,
): Promise<{ readonly accountId: AccountId; readonly id: ApprovalRequestId }[]> =>
  allRows(
    tx,
    `select r.account_id as "accountId", r.id from approval_requests r
     where r.status = 'approved' and r.act in ('policy', 'allow', 'disallow') and r.decided_at > now() - interval '1 day'
       and not exists (select from mails m where m.cause = 'approved:' || r.id)`,
  )
