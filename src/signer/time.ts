/** Time's arrow as the signer keeps it: beside its journal, and looked at before every turn in which it may sign. */
import { join } from 'node:path'
import { crashPoint } from '../core/crash-point.ts'
import type { Log } from '../core/log.ts'
import { SECOND_MS } from '../core/time.ts'
import { beatArrow } from '../db/beat-arrow.ts'
import type { Database } from '../db/database.ts'
import { readArrow, stopMoving } from '../db/time-arrow.sql.ts'
import { type Moment, openTimeMemory, TIME_FILE, type TimeMemory, whyBehind } from '../db/time-arrow.ts'

/** The era in which something may be signed; null while the database has lost commits. */
export type TimeCheck = () => Promise<number | null>

export const openTimeCheck = async (folder: string, db: Database, log: Log): Promise<TimeCheck> =>
  timeCheck(await openTimeMemory(join(folder, TIME_FILE)), db, log)

export function timeCheck(
  memory: TimeMemory,
  db: Database,
  log: Log,
  now = () => performance.now(),
): TimeCheck {
  let beatenAtMs = Number.NEGATIVE_INFINITY
  let said: string | null = null
  return async () => {
    const { seen } = memory
    const isBeat = now() - beatenAtMs >= SECOND_MS
    const { found, why } = isBeat ? await beatArrow(db, seen) : await lookAt(db, seen)
    if (why !== null) await stopMoving(db, `the database lost commits: ${why}`, seen)
    const stopped = found?.stopped ?? why
    if (stopped !== null && stopped !== said)
      log.error({ reason: stopped }, 'the database lost commits: nothing is signed until `npx beck resume`')
    said = stopped
    if (stopped !== null || found === null) return null
    if (isBeat) {
      crashPoint('signer:beat')
      await memory.remember(found)
      beatenAtMs = now()
    }
    return found.era
  }
}

async function lookAt(db: Database, seen: Moment | null) {
  const found = await readArrow(db)
  return { found, why: whyBehind(seen, found) }
}
