/** The withdrawals of an account as a list, refunds included. */
import { ASSETS } from '../core/assets.ts'
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { type ListDescription, type Page, readBatches, readPage } from '../db/list.ts'
import { type Filter, isOrIsNot, type ListQuery } from '../db/list-filters.ts'
import { WITHDRAWAL_KINDS, WITHDRAWAL_STATUSES, type Withdrawal } from './withdrawal.ts'
import { type WithdrawalRow, withdrawalFromRow } from './withdrawals.sql.ts'

/** Where it went, or its transaction, either in full: as the search finds them. */
const sentTo: Filter = (given, bind) => {
  const text = String(given)
  return `(w.destination = ${bind(text, 'text')} or w.tx_hash = any(${bind([text, text.toLowerCase()], 'text[]')}))`
}

const WITHDRAWALS: ListDescription = {
  from: 'withdrawals w',
  columns: 'w.*',
  account: 'w.account_id',
  id: 'w.id',
  sorts: { created_at: 'w.created_at' },
  filters: {
    filter_status: isOrIsNot('w.status', WITHDRAWAL_STATUSES, 'filter_status_op'),
    filter_asset: isOrIsNot('w.asset', ASSETS, 'filter_asset_op'),
    filter_kind: isOrIsNot('w.kind', WITHDRAWAL_KINDS, 'filter_kind_op'),
    filter_to: sentTo,
  },
}

/** A page of the account's withdrawals, refunds included, the newest first. @throws {Refusal} `invalid` for a wrong query. */
export async function listWithdrawals(
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<Withdrawal>> {
  const page = await readPage<WithdrawalRow>(db, WITHDRAWALS, accountId, query)
  return { ...page, items: page.items.map(withdrawalFromRow) }
}

/** All withdrawals that a query matches, the newest first, in batches. @throws {Refusal} `invalid` for a wrong query. */
export async function* exportWithdrawals(
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): AsyncGenerator<readonly Withdrawal[]> {
  for await (const rows of readBatches<WithdrawalRow>(db, WITHDRAWALS, accountId, query))
    yield rows.map(withdrawalFromRow)
}
