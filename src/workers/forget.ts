/** Removes what is older than its age (flows/operation/ages.ts), a few rows at a time, beside those who sell. */
import { OutsideFailure } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { Gateway, GatewaySettings } from '../flows/gateway.ts'
import { AGES, type Age } from '../flows/operation/ages.ts'
import { takeCleaningTurn } from '../flows/operation/cleaning-turn.sql.ts'
import { type Loop, startLoop } from './loop.ts'

/** A fiftieth of a second of a database at work, for the dearest: events with their deliveries and attempts. */
export const ROWS_PER_TURN = 500
/**
 * While there is more, it rests after each statement twice as long as that took, on average: in a third of one connection's time three
 * events go for each payment that a busy Beck makes, and a payment leaves two or three (docs/decisions/0084-no-partitions.md).
 */
const RESTS = 2

type ForgetterGateway = Pick<Gateway, 'db' | 'log'> & { readonly settings: Pick<GatewaySettings, 'keptDays'> }

export function startForgetter(
  gateway: ForgetterGateway,
  options: { idleMs?: number; rowsPerTurn?: number } = {},
): Loop {
  const { idleMs = MINUTE_MS, rowsPerTurn = ROWS_PER_TURN } = options
  return startLoop({
    name: 'forget',
    idleMs,
    log: gateway.log,
    async turn(signal) {
      const endsAt = performance.now() + idleMs
      let ages = AGES
      for (;;) {
        ages = await removeOld(gateway, ages, rowsPerTurn, signal)
        if (ages.length === 0) return false
        // Those without a backlog have their turn each minute too.
        if (signal.aborted || performance.now() >= endsAt) return true
      }
    },
  })
}

/** Half as long or half as long again, so that two processes at the same work soon meet, and one leaves it to the other. */
const restMs = (workedMs: number): number => workedMs * RESTS * (0.5 + Math.random())

/** @returns The ages that have more to remove; none where another process is at it. */
async function removeOld(
  { db, log, settings }: ForgetterGateway,
  ages: readonly Age[],
  limit: number,
  signal: AbortSignal,
): Promise<Age[]> {
  const behind: Age[] = []
  for (const age of ages) {
    if (signal.aborted) break
    const began = performance.now()
    try {
      const removed = await db.transaction(async (tx) => {
        if (!(await takeCleaningTurn(tx))) return null
        return age.set ? age.remove(tx, settings.keptDays[age.set], limit) : age.remove(tx, limit)
      })
      if (removed === null) return []
      if (removed < limit) continue
      behind.push(age)
      await pause(restMs(performance.now() - began), signal)
    } catch (error) {
      if (error instanceof OutsideFailure) throw error
      log.error(
        { err: error, tables: age.tables },
        'what is older than its age can not be removed now; the rest goes',
      )
    }
  }
  return behind
}
