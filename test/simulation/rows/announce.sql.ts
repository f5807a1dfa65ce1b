import type * as real from '../../../src/events/announce.sql.ts'
import { run } from './tables.ts'

export const announce: typeof real.announce = (tx, { accountId, type, cause }) =>
  run(tx, (tables) => {
    const isKnown = tables.events.has(cause)
    if (isKnown && tables.mutation !== 'event-announced-twice') return false
    tables.events.set(isKnown ? `${cause} ${tables.events.size}` : cause, { accountId, type, cause })
    return true
  })
