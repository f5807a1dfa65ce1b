/** The events of an account as a list, the newest first. */
import type { AccountId, EventId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { COUNTED_MAX, type ListDescription, type Page, readBatches, readPage } from '../db/list.ts'
import { exactId, isOrIsNot, type ListQuery } from '../db/list-filters.ts'
import { EVENT_TYPES, type EventType } from './event.ts'
import { isSampleCause } from './sample-event.sql.ts'

export interface ListedEvent {
  readonly id: EventId
  readonly type: EventType
  /** JSON, exactly as it is signed and sent. */
  readonly body: string
  readonly createdAt: Date
  /** Nothing happened: an endpoint was tried with it. */
  readonly isSample: boolean
}

const EVENTS: ListDescription = {
  from: 'events e',
  columns: `e.id, e.type, e.body, e.created_at as "createdAt", ${isSampleCause('e.cause')} as "isSample"`,
  account: 'e.account_id',
  id: 'e.id',
  sorts: { created_at: 'e.created_at' },
  filters: {
    filter_id: exactId('evt', 'e.id'),
    filter_type: isOrIsNot('e.type', EVENT_TYPES, 'filter_type_op'),
  },
  countedMax: COUNTED_MAX,
}

/** @throws {Refusal} `invalid` for a wrong query. */
export const listEvents = (
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<ListedEvent>> => readPage(db, EVENTS, accountId, query)

/** All events that a query matches, the newest first, in batches. @throws {Refusal} `invalid` for a wrong query. */
export const exportEvents = (db: Queryable, accountId: AccountId, query: ListQuery) =>
  readBatches<ListedEvent>(db, EVENTS, accountId, query)
