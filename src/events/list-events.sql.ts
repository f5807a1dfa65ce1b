/** The events of an account as a list, the newest first. */
import type { EventId } from '../core/ids.ts'
import { COUNTED_MAX, listOf } from '../db/list.ts'
import { exactId, type Filter, isOrIsNot } from '../db/list-filters.ts'
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

const ofReadableType = isOrIsNot('e.type', EVENT_TYPES, 'readable_op')
/** Those that the reader may read, beside what he asks for: of these types, and samples, which hold nothing of anybody's. */
const readable: Filter = (...asked) => `(${ofReadableType(...asked)} or ${isSampleCause('e.cause')})`

export const { page: listEvents, batches: exportEvents } = listOf<ListedEvent>({
  from: 'events e',
  columns: `e.id, e.type, e.body, e.created_at as "createdAt", ${isSampleCause('e.cause')} as "isSample"`,
  account: 'e.account_id',
  id: 'e.id',
  sorts: { created_at: 'e.created_at' },
  filters: {
    filter_id: exactId('evt', 'e.id'),
    filter_type: isOrIsNot('e.type', EVENT_TYPES, 'filter_type_op'),
    readable,
  },
  countedMax: COUNTED_MAX,
})
