/** Notes rates through the day and closes days that ended. */
import { MINUTE_MS } from '../core/time.ts'
import { closeNextDay, recordRates } from '../flows/balance/close-day.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type Loop, startLoop } from './loop.ts'

export function startDayCloser(gateway: Pick<Gateway, 'db' | 'rates' | 'log'>): Loop {
  return startLoop({
    name: 'close-day',
    idleMs: MINUTE_MS,
    log: gateway.log,
    async turn() {
      await recordRates(gateway)
      return closeNextDay(gateway)
    },
  })
}
