/**
 * How much of this process one account may keep busy at once, or strangers with one form: the rest of its requests wait, in the
 * order in which they came, while those of others are served. Without it, 25 slow lists of one key are all connections to the
 * database, and hundreds of tried passwords the first second of everybody.
 */
import { ClientGone, RateLimited } from './errors.ts'

export interface WorkSizes {
  /** Requests of an account that may be served at once; of reads, which may be slow, fewer. */
  readonly running: number
  readonly reading: number
  /** Requests of an account that may wait. */
  readonly waiting: number
}

/** Of twenty connections to the database. */
export const WORK_SIZES: WorkSizes = { running: 10, reading: 4, waiting: 400 }

export interface WorkLimit {
  /**
   * @param whose - An account, or a form.
   * @param isGone - Asked when its turn comes: for whom has left nothing is begun.
   * @throws {ClientGone} then, and the refusal when too much of the same waits already.
   */
  run<Result>(
    whose: string,
    kind: 'read' | 'write',
    work: () => Promise<Result>,
    isGone?: () => boolean,
  ): Promise<Result>
}

interface Lane {
  running: number
  reading: number
  readonly waiting: { readonly isRead: boolean; readonly begin: () => void }[]
}

/** @param refusal - Of who comes after as many as may wait. */
export function openWorkLimit(
  { running, reading, waiting }: WorkSizes = WORK_SIZES,
  refusal: () => Error = () =>
    new RateLimited(`${waiting} requests of this account wait already; send fewer at once`, 1),
): WorkLimit {
  const lanes = new Map<string, Lane>()

  const enter = (lane: Lane, isRead: boolean): boolean => {
    if (lane.running >= running || (isRead && lane.reading >= reading)) return false
    lane.running += 1
    if (isRead) lane.reading += 1
    return true
  }
  const leave = (whose: string, lane: Lane, isRead: boolean) => {
    lane.running -= 1
    if (isRead) lane.reading -= 1
    const next = lane.waiting.findIndex((one) => enter(lane, one.isRead))
    if (next >= 0) lane.waiting.splice(next, 1)[0]?.begin()
    else if (lane.running === 0) lanes.delete(whose)
  }

  return {
    async run(whose, kind, work, isGone = () => false) {
      const isRead = kind === 'read'
      const lane = lanes.get(whose) ?? { running: 0, reading: 0, waiting: [] }
      lanes.set(whose, lane)
      if (!enter(lane, isRead)) {
        if (lane.waiting.length >= waiting) throw refusal()
        const turn = Promise.withResolvers<void>()
        lane.waiting.push({ isRead, begin: turn.resolve })
        await turn.promise
      }
      try {
        if (isGone()) throw new ClientGone('the client left before its turn came')
        return await work()
      } finally {
        leave(whose, lane, isRead)
      }
    },
  }
}
