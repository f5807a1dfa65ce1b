/** The simulated chains mine by themselves. Any number of these may run: a block that is not due is not mined. */
import type { Gateway } from '../flows/gateway.ts'
import { mineDueBlocks } from '../flows/sandbox.ts'
import { type Loop, startLoop } from './loop.ts'

/**
 * @param blockMs - Time from one block to the next. For mining by hand only, do not start a miner.
 */
export function startMiner(gateway: Gateway, blockMs: number): Loop {
  // Asking is one cheap query; a tenth of the time early is on time, so that turns need not meet the very instant.
  return startLoop({
    name: 'mine',
    idleMs: blockMs / 5,
    log: gateway.log,
    turn: async () => {
      await mineDueBlocks(gateway.db, blockMs * 0.9)
      return false
    },
  })
}
