/** Forgets answers that nobody can ask for again: those kept for idempotency keys, once their 24 hours are over. */
import { forgetOldAnswers } from '../accounts/idempotency-keys.sql.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type Loop, startLoop } from './loop.ts'

const ANSWERS_PER_TURN = 1_000

export function startForgetter(gateway: Pick<Gateway, 'db' | 'log'>): Loop {
  return startLoop({
    name: 'forget',
    idleMs: MINUTE_MS,
    log: gateway.log,
    turn: async () => (await forgetOldAnswers(gateway.db, ANSWERS_PER_TURN)) === ANSWERS_PER_TURN,
  })
}
