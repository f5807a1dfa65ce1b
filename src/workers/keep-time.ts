/** Beats time's arrow once a second, in every process but the signer, which does so itself. */
import type { Log } from '../core/log.ts'
import { SECOND_MS } from '../core/time.ts'
import type { TimeKeeper } from '../flows/recovery/keep-time.ts'
import { type Loop, startLoop } from './loop.ts'

export const startTimeKeeper = (keeper: TimeKeeper, log: Log): Loop =>
  startLoop({
    name: 'keep-time',
    idleMs: SECOND_MS,
    // Once the database is back, its new connections are refused until the next beat.
    failureMsMax: SECOND_MS,
    log,
    async turn() {
      await keeper.turn()
      return false
    },
  })
