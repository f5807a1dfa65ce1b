/** Saved views: a list's filters under a name, for oneself. */

import { conflict } from '../../../core/errors.ts'
import { readId } from '../../../core/ids.ts'
import {
  deleteSavedView,
  insertSavedView,
  SAVED_VIEWS_MAX,
  VIEWED_PAGES,
  type ViewedPage,
} from '../../../users/saved-views.sql.ts'
import { readName } from '../../../users/user.ts'
import { type DashboardRow, type PlaceCall, placeRow } from '../row.ts'

const pageOf = (call: PlaceCall): ViewedPage =>
  VIEWED_PAGES.find((page) => page === call.form.get('page')) ?? 'payments'

export const viewRows: readonly DashboardRow[] = [
  placeRow('payments:read', 'POST /:account/views', {
    async handle(call) {
      const query = new URLSearchParams(call.form.get('query').slice(0, 1_000)).toString().slice(0, 1_000)
      const view = {
        page: pageOf(call),
        name: readName(call.form.get('name')).slice(0, 60),
        query,
      }
      const isKept = await call.gateway.db.transaction((tx) =>
        insertSavedView(tx, call.session.userId, call.place.account.id, view),
      )
      if (!isKept)
        throw conflict(
          'too_many_views',
          `this list keeps ${SAVED_VIEWS_MAX} views of yours already; remove one of them first`,
        )
      return { to: `${call.here}/${view.page}?${query}`, done: 'view-saved' }
    },
  }),
  placeRow('payments:read', 'POST /:account/views/:id/delete', {
    async handle(call) {
      const id = readId('view', call.params.id ?? '')
      if (id)
        await call.gateway.db.transaction((tx) =>
          deleteSavedView(tx, call.session.userId, call.place.account.id, id),
        )
      return { to: `${call.here}/${pageOf(call)}`, done: 'view-deleted' }
    },
  }),
]
