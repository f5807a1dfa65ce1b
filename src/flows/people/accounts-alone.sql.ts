/** Accounts that the command line made, and that belong to no merchant on the dashboard. */
import { GATEWAY_ACCOUNTS } from '../../core/gateway-account.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

/** The newest first. */
export async function listAccountsAlone(db: Queryable, limit: number): Promise<AccountId[]> {
  const { rows } = await db.query<{ id: AccountId }>(
    `select a.id from accounts a where a.id <> all($1::uuid[])
       and not exists (select from merchants m where m.live_account_id = a.id)
       and not exists (select from merchants m where m.test_account_id = a.id)
     order by a.created_at desc, a.id desc limit $2`,
    [Object.values(GATEWAY_ACCOUNTS), limit],
  )
  return rows.map(({ id }) => id)
}
