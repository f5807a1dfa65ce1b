/** Ends windows: queues payments whose time is over on chains that were seen past it. Never runs ahead of the view. */
import type { Gateway } from '../flows/gateway.ts'
import { markWindowsOver } from '../flows/payments/windows-over.sql.ts'
import { type Loop, startLoop } from './loop.ts'

const PAYMENTS_PER_TURN = 500

export function startExpirer(gateway: Gateway, options: { idleMs?: number } = {}): Loop {
  return startLoop({
    name: 'expire',
    idleMs: options.idleMs ?? 1_000,
    log: gateway.log,
    async turn() {
      const queued = await gateway.db.transaction((tx) => markWindowsOver(tx, PAYMENTS_PER_TURN))
      if (queued > 0) gateway.wake('settle')
      return queued === PAYMENTS_PER_TURN
    },
  })
}
