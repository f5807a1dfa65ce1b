/** The audit log of one account, as its people read and export it. */
import { COUNTED_MAX, listOf } from '../db/list.ts'
import { exactText } from '../db/list-filters.ts'
import { ACT_COLUMNS, actFromRow } from './audit-log.sql.ts'

/** `audit_log_by_account` holds the order, and all that is filtered by: acts that are passed over are not fetched. */
export const { page: listActsOf, batches: exportActs } = listOf(
  {
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
  },
  actFromRow,
)
