/** A list's filters and order under a name, for one person. */
import { type AccountId, newId, type SavedViewId, type UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, anyRow } from '../db/rows.ts'

/** Lists that views are kept of: as their paths end. */
export const VIEWED_PAGES = [
  'payments',
  'customers',
  'links',
  'withdrawals',
  'requests',
  'events',
  'audit',
] as const
export type ViewedPage = (typeof VIEWED_PAGES)[number]
/** Of one person on one list: as many as can stand above it. */
export const SAVED_VIEWS_MAX = 20

export interface SavedView {
  readonly id: SavedViewId
  readonly page: ViewedPage
  readonly name: string
  /** As it stands in the URL, without its question mark. */
  readonly query: string
}

export const listSavedViews = (
  db: Queryable,
  userId: UserId,
  accountId: AccountId,
  page: ViewedPage,
): Promise<SavedView[]> =>
  allRows(
    db,
    `select id, page, name, query from saved_views
     where user_id = $1 and account_id = $2 and page = $3 order by created_at`,
    [userId, accountId, page],
  )

/**
 * Two tabs that save at once may go one beyond the bound: it keeps the page short, and all that are kept are shown.
 *
 * @returns Whether it is kept: not where there are {@link SAVED_VIEWS_MAX}.
 */
export const insertSavedView = (
  tx: Tx,
  userId: UserId,
  accountId: AccountId,
  view: Omit<SavedView, 'id'>,
): Promise<boolean> =>
  anyRow(
    tx,
    `insert into saved_views (user_id, account_id, id, page, name, query)
     select $1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::text where $7::bigint >
       (select count(*) from saved_views where user_id = $1 and account_id = $2 and page = $4)`,
    [userId, accountId, newId('view'), view.page, view.name, view.query, SAVED_VIEWS_MAX],
  )

export async function deleteSavedView(
  tx: Tx,
  userId: UserId,
  accountId: AccountId,
  id: SavedViewId,
): Promise<void> {
  await tx.query('delete from saved_views where user_id = $1 and account_id = $2 and id = $3', [
    userId,
    accountId,
    id,
  ])
}
