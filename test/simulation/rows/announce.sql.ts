import { newId } from '../../../src/core/ids.ts'
import type * as real from '../../../src/events/announce.sql.ts'
import type { EventRow, Tables } from './tables.ts'
import { run } from './tables.ts'

export function announceCause(tables: Tables, { accountId, type, cause }: EventRow): boolean {
  const isKnown = tables.events.has(cause)
  if (isKnown && tables.mutation !== 'event-announced-twice') return false
  tables.events.set(isKnown ? `${cause} ${tables.events.size}` : cause, { accountId, type, cause })
  return true
}

export const announce: typeof real.announce = (tx, announcement) =>
  run(tx, (tables) => announceCause(tables, announcement))

export const draftEvent: typeof real.draftEvent = ({ accountId, type, cause }) => ({
  accountId,
  id: newId('evt'),
  type,
  cause,
  body: '',
})
