/**
 * One prover a chain: after every block the books are compared with it. One more for the rows of the books among each other,
 * now and then. Any number may run; they prove the same.
 */
import type { ChainPort } from '../chains/chain.ts'
import { pause } from '../core/pause.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type ProverMemory, proveBlock } from '../proof/prove-block.ts'
import { noteRowsUnproven, proveRows } from '../proof/prove-rows.ts'
import { type Loop, startLoop } from './loop.ts'

export function startProver(gateway: Gateway, port: ChainPort, options: { idleMs?: number } = {}): Loop {
  const memory: ProverMemory = {}
  return startLoop({
    name: `prove ${port.chain}`,
    idleMs: options.idleMs ?? 2_000,
    log: gateway.log,
    async turn() {
      await proveBlock(gateway, port, memory)
      return false
    },
  })
}

export interface RowProverPace {
  /** From the start to the first proof. */
  readonly firstMs: number
  /** From the end of one proof to the next, at least. */
  readonly pauseMs: number
  /** Until what disagrees is looked at again. */
  readonly againMs: number
}

const ROWS: RowProverPace = { firstMs: 10 * MINUTE_MS, pauseMs: HOUR_MS, againMs: 30 * SECOND_MS }
/** Large books take longer to read: this much of the time, at most. */
const ROWS_SHARE_MAX = 0.01

export function startRowProver(gateway: Gateway, pace: RowProverPace = ROWS): Loop {
  const startedMs = performance.now()
  let dueMs = startedMs + pace.firstMs
  return startLoop({
    name: 'prove rows',
    idleMs: Math.min(pace.firstMs, pace.pauseMs, MINUTE_MS),
    log: gateway.log,
    async turn(signal) {
      const beganMs = performance.now()
      if (beganMs < dueMs) return false
      try {
        await proveRows(gateway, async () => {
          await pause(pace.againMs, signal)
          return !signal.aborted
        })
      } catch (error) {
        await noteRowsUnproven(gateway, error, beganMs - startedMs)
        throw error
      } finally {
        // After a failure as well: a database that is ill is not made to read everything again at once.
        const endedMs = performance.now()
        dueMs = endedMs + Math.max(pace.pauseMs, (endedMs - beganMs) / ROWS_SHARE_MAX)
      }
      return false
    },
  })
}
