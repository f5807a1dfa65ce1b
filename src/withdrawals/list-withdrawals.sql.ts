/** The withdrawals of an account as a list, refunds included. */
import { ASSETS } from '../core/assets.ts'
import { listOf } from '../db/list.ts'
import { type Filter, isOrIsNot } from '../db/list-filters.ts'
import { WITHDRAWAL_KINDS, WITHDRAWAL_STATUSES, type Withdrawal } from './withdrawal.ts'
import { WITHDRAWAL_COLUMNS } from './withdrawals.sql.ts'

/** Where it went, or its transaction, either in full: as the search finds them. */
const sentTo: Filter = (given, bind) => {
  const text = String(given)
  return `(w.destination = ${bind(text, 'text')} or w.tx_hash = any(${bind([text, text.toLowerCase()], 'text[]')}))`
}

/** A page further inside would be walked to for longer than anybody waits; a merchant's file has all of his. */
const PAGED_MAX = 50_000n

export const { page: listWithdrawals, batches: exportWithdrawals } = listOf<Withdrawal>({
  from: 'withdrawals w',
  columns: WITHDRAWAL_COLUMNS,
  account: 'w.account_id',
  id: 'w.id',
  sorts: { created_at: 'w.created_at' },
  filters: {
    filter_status: isOrIsNot('w.status', WITHDRAWAL_STATUSES, 'filter_status_op'),
    filter_asset: isOrIsNot('w.asset', ASSETS, 'filter_asset_op'),
    filter_kind: isOrIsNot('w.kind', WITHDRAWAL_KINDS, 'filter_kind_op'),
    filter_to: sentTo,
  },
  countedMax: PAGED_MAX,
})
