/** What waits for a decision of a person. */
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

export interface Attention {
  readonly underpaid: number
  readonly overpaid: number
  /** Expired, cancelled or failed, with funds that are held. */
  readonly late: number
  readonly failingEndpoints: number
}

/** Reads what is held, which is little, and not the payments, which are many. */
export async function readAttention(db: Queryable, accountId: AccountId): Promise<Attention> {
  const { rows } = await db.query<Attention>(
    `with unresolved as (
       select p.status from payments p
       where p.account_id = $1 and p.id in (
         select u.payment_id from unresolved_funds u where u.account_id = $1 and u.atoms > 0)
     )
     select (count(*) filter (where status = 'underpaid'))::int as underpaid,
       (count(*) filter (where status = 'overpaid'))::int as overpaid,
       (count(*) filter (where status in ('expired', 'cancelled', 'failed')))::int as late,
       (select count(*)::int from webhook_endpoints e where e.account_id = $1 and e.deleted_at is null
          and (e.failing_since < now() - interval '1 hour' or e.disabled_reason is not null)) as "failingEndpoints"
     from unresolved`,
    [accountId],
  )
  return rows[0] ?? { underpaid: 0, overpaid: 0, late: 0, failingEndpoints: 0 }
}
