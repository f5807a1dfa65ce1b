/**
 * Time's arrow: a counter in the database that only grows. Who remembers a larger one than the database shows knows that it
 * lost commits: it was set back to a copy, recovered to a point in time, or a replica took over before it had them all.
 */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ifThere } from '../core/files.ts'

/** A moment of a database's history. */
export interface Moment {
  /** Which database; of another one nothing can be said. */
  readonly history: string
  readonly era: number
  readonly tick: bigint
  /** Of PostgreSQL: another one after a recovery to a point in time, and after a replica took over. */
  readonly timeline: string
  /** The database's clock then; null where it was not written down. */
  readonly at: Date | null
}

export interface Arrow extends Moment {
  /** Where the counter stood when it was met on each timeline first. */
  readonly timelines: Readonly<Record<string, number>>
  /** Why nothing moves; null while time goes forward. */
  readonly stopped: string | null
  readonly isMadeSafe: boolean
}

/** Why what the database shows can not follow what was remembered; null when it does. */
export function whyBehind(remembered: Moment | null, found: Arrow | null): string | null {
  if (remembered === null) return null
  if (found === null) return 'its counter is gone'
  // The operator has looked, and let it go on.
  if (found.era > remembered.era) return null
  if (remembered.history !== found.history)
    return 'it does not have the counter that is remembered: it is another database, or older than that'
  if (found.era < remembered.era)
    return `it shows era ${found.era}, which ended; this is era ${remembered.era}`
  if (found.tick < remembered.tick)
    return `its counter stands at ${found.tick}, and stood at ${remembered.tick} before`
  if (found.timeline < remembered.timeline)
    return `it follows timeline ${found.timeline} of PostgreSQL, and followed ${remembered.timeline} before`
  const lost = Object.entries(found.timelines).find(
    ([timeline, tick]) => timeline > remembered.timeline && tick < remembered.tick,
  )
  return lost
    ? `timeline ${lost[0]} of PostgreSQL began with its counter at ${lost[1]}, and it stood at ${remembered.tick} before`
    : null
}

/** Whether another server took over with every commit that the counter tells of; what came after it may be gone. */
export const hasTakenOver = (remembered: Moment | null, found: Arrow): boolean =>
  remembered !== null &&
  found.history === remembered.history &&
  found.era === remembered.era &&
  found.timeline !== remembered.timeline &&
  whyBehind(remembered, found) === null

/** The file that a process remembers in, beside its data: two that write one could leave the older of two moments in it. */
export const TIME_FILE = 'time-arrow'
/** Of watchers and workers under `--role all`. */
export const BACKGROUND_TIME_FILE = `${TIME_FILE}.background`
/** Of the restores that were made here. */
export const RESTORE_TIME_FILE = `${TIME_FILE}.restore`

/** What one process remembers: in its memory, and in a file for the next one. */
export interface TimeMemory {
  readonly seen: Moment | null
  /** @returns When it is on the disk. */
  remember(moment: Moment): Promise<void>
}

/** @param path - Its file; what cannot be read of it is taken as nothing remembered. */
export async function openTimeMemory(path: string): Promise<TimeMemory> {
  let drafts = 0
  let seen = readMoment(await ifThere(readFile(path, 'utf8')))
  return {
    get seen() {
      return seen
    },
    async remember({ history, era, tick, timeline, at }) {
      seen = { history, era, tick, timeline, at }
      await mkdir(dirname(path), { recursive: true })
      const draft = `${path}.${process.pid}.${drafts++}`
      try {
        await writeDurably(draft, JSON.stringify({ ...seen, tick: String(tick) }))
        await rename(draft, path)
      } catch (error) {
        // It is tried again every second, and a full disk should not be given a file for each time.
        await rm(draft, { force: true }).catch(() => {})
        throw error
      }
    },
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.datasync()
  } finally {
    await file.close()
  }
}

function readMoment(text: string | null): Moment | null {
  try {
    const { history, era, tick, timeline, at } = JSON.parse(text ?? 'null')
    return {
      history: String(history),
      era: Number(era),
      tick: BigInt(tick),
      timeline: String(timeline),
      at: at ? new Date(at) : null,
    }
  } catch {
    return null
  }
}
