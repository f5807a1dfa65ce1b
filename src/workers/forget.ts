/** Removes what is older than its age (flows/operation/ages.ts), a few rows at a time. */
import { OutsideFailure } from '../core/errors.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { Gateway, GatewaySettings } from '../flows/gateway.ts'
import { AGES } from '../flows/operation/ages.ts'
import { type Loop, startLoop } from './loop.ts'

/** Small enough that a statement takes far less than a second; a full turn is followed by the next after a breath. */
const ROWS_PER_TURN = 500

export function startForgetter(
  gateway: Pick<Gateway, 'db' | 'log'> & { readonly settings: Pick<GatewaySettings, 'keptDays'> },
  options: { idleMs?: number } = {},
): Loop {
  return startLoop({
    name: 'forget',
    idleMs: options.idleMs ?? MINUTE_MS,
    log: gateway.log,
    async turn() {
      const { db, log, settings } = gateway
      let isMore = false
      for (const age of AGES) {
        try {
          const removed = age.set
            ? await age.remove(db, settings.keptDays[age.set], ROWS_PER_TURN)
            : await age.remove(db, ROWS_PER_TURN)
          isMore ||= removed >= ROWS_PER_TURN
        } catch (error) {
          if (error instanceof OutsideFailure) throw error
          log.error(
            { err: error, tables: age.tables },
            'what is older than its age can not be removed now; the rest goes',
          )
        }
      }
      return isMore
    },
  })
}
