/** Work that can wait a second keeps out of the way of answers that somebody waits for, where the machine has nothing to spare. */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { pause } from './pause.ts'

/** Since the machine's start, of all processors together, in any unit. */
export interface ProcessorTime {
  readonly processors: number
  readonly idle: number
  readonly all: number
}

export interface SpareTime {
  /** Sees how busy the machine was since the last look. Of one every few seconds, the next work knows what it comes beside. */
  look(): void
  /**
   * Work on so many pieces, in parts: at once where the machine has time to spare, else in small steps with rests between.
   *
   * @param partsAtOnce - Into how many it falls in the first case, all under way together.
   * @param work - On the pieces from `first` up to the one before `end`.
   * @returns What each part gave, in the order of the pieces.
   */
  spend<Part>(
    count: number,
    partsAtOnce: number,
    work: (first: number, end: number) => Promise<Part>,
  ): Promise<Part[]>
  /**
   * One piece of work, and a rest behind it where the machine is busy.
   *
   * @param ownMs - Of work that waits for others: what of it was this machine's, which the rest is measured by.
   */
  step<Result>(work: () => Result | Promise<Result>, ownMs?: (result: Result) => number): Promise<Result>
  /** For one piece of work in all: it rests no longer than that, and does at once what is left then. */
  atMost(ms: number): SpareTime
}

/** Work that yields wherever it may rest, in its steps. */
export async function inSteps<Result>(
  work: Generator<void, Result>,
  { step }: Pick<SpareTime, 'step'>,
): Promise<Result> {
  for (;;) {
    const { done, value } = await step(() => work.next())
    if (done) return value
  }
}

/** At once such work wants two processors: with less of one idle (of a single one, half), answers wait for it. */
const IDLE_PROCESSORS_MIN = 1
/** Shorter, and what is seen is the work itself, and the moment's chance. */
const WINDOW_MS = 500
const STEP = 500
/** So few are done at once however busy the machine is: somebody waits for them, and they take some twenty milliseconds. */
const FEW = 4_000
/** Times as long as a step took: of one processor such work takes a seventeenth, and two such at a time two, where no rest is cut short. */
const REST = 16
/** What took longer waited itself, for a disk or for its turn. */
const REST_MS_MAX = 500
/** Of dozens of parts: all of them are to be done in a few seconds. */
const REST_OF_PART_MS_MAX = 100

/** Somebody waits for this work, or much of it: it rests nowhere. */
export const AT_ONCE: SpareTime = {
  look() {},
  spend: (count, partsAtOnce, work) => inParts(0, count, partsAtOnce, work),
  step: async (work) => work(),
  atMost() {
    return this
  },
}

/**
 * Until the first look, and half a second has passed, the machine is taken for idle. Seen are its own processors: not those of a database
 * elsewhere, nor how much of them a container may have.
 */
export function watchSpareTime(
  read: () => ProcessorTime = processorTime,
  rest: (ms: number) => Promise<void> = pause,
  now: () => number = () => performance.now(),
): SpareTime {
  let [seen, seenAt] = [read(), now()]
  let isBusy = false
  const look = () => {
    if (now() - seenAt < WINDOW_MS) return
    const before = seen
    seen = read()
    seenAt = now()
    const passed = seen.all - before.all
    // Where processors came or went, nothing can be said.
    const isKnown = passed > 0 && seen.processors === before.processors
    const idle = ((seen.idle - before.idle) / passed) * seen.processors
    isBusy = isKnown && idle < Math.min(IDLE_PROCESSORS_MIN, seen.processors / 2)
  }
  const atMost = (budgetMs: number): SpareTime => {
    let leftMs = budgetMs
    const restAfter = async (ms: number, most: number) => {
      if (!isBusy || leftMs <= 0) return
      const restMs = Math.min(ms * REST, most, leftMs)
      const began = now()
      await rest(restMs)
      // Timers come late.
      leftMs -= Math.max(restMs, now() - began)
    }
    /** Of work that goes on side by side, a part at a time: two together want both of two processors. */
    let turn: Promise<unknown> = Promise.resolve()
    const inTurn = <Part>(work: () => Promise<Part>): Promise<Part> => {
      const part = turn.then(work)
      turn = part.catch(() => {})
      return part
    }
    return {
      look,
      async spend<Part>(
        count: number,
        partsAtOnce: number,
        work: (first: number, end: number) => Promise<Part>,
      ): Promise<Part[]> {
        const parts: Part[] = []
        let first = 0
        for (look(); isBusy && count > FEW && leftMs > 0 && first < count; look()) {
          const [from, end] = [first, Math.min(first + STEP, count)]
          const part = await inTurn(async () => {
            const began = now()
            const done = await work(from, end)
            if (end < count) await restAfter(now() - began, REST_OF_PART_MS_MAX)
            return done
          })
          parts.push(part)
          first = end
        }
        return parts.concat(await inParts(first, count, partsAtOnce, work))
      },
      async step(work, ownMs) {
        const began = now()
        const result = await work()
        await restAfter(ownMs?.(result) ?? now() - began, REST_MS_MAX)
        return result
      },
      atMost,
    }
  }
  return atMost(Number.POSITIVE_INFINITY)
}

function inParts<Part>(
  from: number,
  to: number,
  parts: number,
  work: (first: number, end: number) => Promise<Part>,
): Promise<Part[]> {
  const size = Math.ceil((to - from) / parts)
  const begins = Array.from({ length: parts }, (_, n) => from + n * size).filter((first) => first < to)
  return Promise.all(begins.map(async (first) => work(first, Math.min(first + size, to))))
}

/** Of Linux its own account: Node adds each processor's frequency, which takes up to half a second where there are many. */
export function processorTime(): ProcessorTime {
  if (process.platform !== 'linux') return sumOf(cpus().map((each) => each.times))
  try {
    const stat = readFileSync('/proc/stat', 'latin1')
    const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] =
      /^cpu (.*)/.exec(stat)?.[1]?.trim().split(' ').map(Number) ?? []
    return {
      processors: stat.match(/^cpu\d/gm)?.length ?? 0,
      idle: idle + iowait,
      all: user + nice + system + idle + iowait + irq + softirq + steal,
    }
  } catch {
    // A sandbox without /proc: nothing is ever known to be busy.
    return { processors: 0, idle: 0, all: 0 }
  }
}

function sumOf(
  times: readonly Readonly<Record<'user' | 'nice' | 'sys' | 'idle' | 'irq', number>>[],
): ProcessorTime {
  const idle = times.reduce((sum, each) => sum + each.idle, 0)
  const busy = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0)
  return { processors: times.length, idle, all: idle + busy }
}
