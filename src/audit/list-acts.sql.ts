/** The audit log of one account, as its people read and export it. */
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { COUNTED_MAX, type ListDescription, type Page, readBatches, readPage } from '../db/list.ts'
import { exactText, type ListQuery } from '../db/list-filters.ts'
import type { RecordedAct } from './act.ts'
import { ACT_COLUMNS, type ActRow, actFromRow } from './audit-log.sql.ts'

/** `audit_log_by_account` holds the order, and all that is filtered by: acts that are passed over are not fetched. */
const ACTS: ListDescription = {
  from: 'audit_log a',
  columns: ACT_COLUMNS,
  account: 'a.account_id',
  id: 'a.id',
  sorts: { created_at: 'a.at' },
  filters: {
    filter_kind: exactText('a.actor_kind'),
    filter_action: exactText('a.action'),
    filter_subject: exactText('a.subject'),
  },
  // Nobody pages through more: days lead to the rest.
  countedMax: COUNTED_MAX,
}

/** @throws {Refusal} `invalid` for a wrong query. */
export async function listActsOf(
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<RecordedAct>> {
  const page = await readPage<ActRow>(db, ACTS, accountId, query)
  return { ...page, items: page.items.map(actFromRow) }
}

/** All acts that a query matches, the newest first, in batches. @throws {Refusal} `invalid` for a wrong query. */
export async function* exportActs(
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): AsyncGenerator<readonly RecordedAct[]> {
  for await (const rows of readBatches<ActRow>(db, ACTS, accountId, query)) yield rows.map(actFromRow)
}
