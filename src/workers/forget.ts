/**
 * Forgets what nobody can ask for again: answers kept for idempotency keys after 24 hours, events with their deliveries
 * and attempts after 30 days, mails 30 days after they ended, sessions of the dashboard and wrong passwords after a day.
 */
import { forgetOldAnswers } from '../accounts/idempotency-keys.sql.ts'
import { MINUTE_MS } from '../core/time.ts'
import { pruneEvents } from '../events/prune-events.sql.ts'
import type { Gateway } from '../flows/gateway.ts'
import { pruneMails } from '../mails/mails.sql.ts'
import { pruneSessions } from '../users/sessions.sql.ts'
import { type Loop, startLoop } from './loop.ts'

/** Small enough that a turn takes far less than a second; a full turn is followed by the next at once. */
const ROWS_PER_TURN = 1_000

export function startForgetter(
  gateway: Pick<Gateway, 'db' | 'log'>,
  options: { idleMs?: number } = {},
): Loop {
  return startLoop({
    name: 'forget',
    idleMs: options.idleMs ?? MINUTE_MS,
    log: gateway.log,
    async turn() {
      const answers = await forgetOldAnswers(gateway.db, ROWS_PER_TURN)
      const events = await pruneEvents(gateway.db, ROWS_PER_TURN)
      const sessions = await pruneSessions(gateway.db, ROWS_PER_TURN)
      const mails = await pruneMails(gateway.db, ROWS_PER_TURN)
      return [answers, events, sessions, mails].some((rows) => rows >= ROWS_PER_TURN)
    },
  })
}
