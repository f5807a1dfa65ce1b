/**
 * How much of this process one account may keep busy at once, or strangers with one form: the rest of its requests wait, in the
 * order in which they came, while those of others are served. Without it, 25 slow lists of one key are all connections to the
 * database, and hundreds of tried passwords the first second of everybody.
 */
import { ClientGone, RateLimited } from './errors.ts'

/** `gathered`: a change that shares its connections with others of its account (`db/gathered.ts`). */
export type WorkKind = 'read' | 'write' | 'gathered'

export interface WorkSizes {
  /** Requests of an account that may be served at once; of reads, which may be slow, fewer. */
  readonly running: number
  readonly reading: number
  /** Beside them, of those that share connections. */
  readonly gathered: number
  /** Requests of an account that may wait. */
  readonly waiting: number
}

/** Of twenty connections to the database: ten, and six for each statement of those that are gathered (`db/gathered.ts`). */
export const WORK_SIZES: WorkSizes = { running: 10, reading: 4, gathered: 16, waiting: 400 }

export interface WorkLimit {
  /**
   * @param whose - An account, or a form.
   * @param isGone - Asked when its turn comes: for whom has left nothing is begun.
   * @throws {ClientGone} then, and the refusal when too much of the same waits already.
   */
  run<Result>(
    whose: string,
    kind: WorkKind,
    work: () => Promise<Result>,
    isGone?: () => boolean,
  ): Promise<Result>
}

interface Lane {
  running: number
  reading: number
  gathered: number
  readonly waiting: { readonly kind: WorkKind; readonly begin: () => void }[]
}

/** @param refusal - Of who comes after as many as may wait. */
export function openWorkLimit(
  { running, reading, gathered, waiting }: WorkSizes = WORK_SIZES,
  refusal: () => Error = () =>
    new RateLimited(`${waiting} requests of this account wait already; send fewer at once`, 1),
): WorkLimit {
  const lanes = new Map<string, Lane>()

  const mayEnter = (lane: Lane, kind: WorkKind): boolean => {
    if (kind === 'gathered') return lane.gathered < gathered
    return lane.running < running && (kind === 'write' || lane.reading < reading)
  }
  const count = (lane: Lane, kind: WorkKind, change: 1 | -1): void => {
    if (kind === 'gathered') lane.gathered += change
    else lane.running += change
    if (kind === 'read') lane.reading += change
  }
  const enter = (lane: Lane, kind: WorkKind): boolean => {
    if (!mayEnter(lane, kind)) return false
    count(lane, kind, 1)
    return true
  }
  const leave = (whose: string, lane: Lane, kind: WorkKind) => {
    count(lane, kind, -1)
    const next = lane.waiting.findIndex((one) => enter(lane, one.kind))
    if (next >= 0) lane.waiting.splice(next, 1)[0]?.begin()
    else if (lane.running + lane.gathered === 0) lanes.delete(whose)
  }

  return {
    async run(whose, kind, work, isGone = () => false) {
      const lane = lanes.get(whose) ?? { running: 0, reading: 0, gathered: 0, waiting: [] }
      lanes.set(whose, lane)
      if (!enter(lane, kind)) {
        if (lane.waiting.length >= waiting) throw refusal()
        const turn = Promise.withResolvers<void>()
        lane.waiting.push({ kind, begin: turn.resolve })
        await turn.promise
      }
      try {
        if (isGone()) throw new ClientGone('the client left before its turn came')
        return await work()
      } finally {
        leave(whose, lane, kind)
      }
    },
  }
}
