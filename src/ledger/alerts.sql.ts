/** What the operator must look at. One alert per subject: saying it again changes nothing. */
import { type AccountId, newRowId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'

export interface Alert {
  /** snake_case, stable: monitoring may switch on it. */
  readonly kind: string
  readonly accountId: AccountId | null
  readonly subject: string
  readonly message: string
}

export async function raiseAlert(db: Queryable, alert: Alert): Promise<void> {
  await db.query(
    `insert into alerts (id, kind, account_id, subject, message) values ($1, $2, $3, $4, $5)
     on conflict (kind, subject) do nothing`,
    [newRowId(), alert.kind, alert.accountId, alert.subject, alert.message],
  )
}
