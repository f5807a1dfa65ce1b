/** One beat of time's arrow, as every process but a reader makes it. */
import type { Queryable } from './database.ts'
import { advanceArrow, readArrow } from './time-arrow.sql.ts'
import { type Arrow, type Moment, whyBehind } from './time-arrow.ts'

/**
 * Looks at the counter and advances it, unless it can not follow what was remembered: who advanced it then, and died before
 * he said what he saw, would hide it from the others.
 *
 * @returns What it shows now, and why it is behind as it stood before this beat (it may not even stand still); null when it
 *   follows, and only then it was advanced.
 */
export async function beatArrow(
  db: Queryable,
  remembered: Moment | null,
): Promise<{ readonly found: Arrow; readonly why: string | null }> {
  const shown = await readArrow(db)
  const why = shown && whyBehind(remembered, shown)
  if (shown && why !== null) return { found: shown, why }
  const found = await advanceArrow(db)
  return { found, why: whyBehind(remembered, { ...found, tick: found.tick - 1n }) }
}
