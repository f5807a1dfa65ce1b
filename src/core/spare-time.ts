/** Work that can wait a second keeps out of the way of answers that somebody waits for, where the machine has nothing to spare. */
import { cpus } from 'node:os'
import { pause } from './pause.ts'

/** Milliseconds since the machine's start, of the average processor. */
export interface ProcessorTime {
  readonly idle: number
  readonly all: number
}

export interface SpareTime {
  /** Sees how busy the machine was since the last look. Of one every few seconds, the next work knows what it comes beside. */
  look(): void
  /**
   * Work on so many pieces, in parts: at once where a processor is idle, else in small steps with rests between.
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
  /** One piece of work, and a rest behind it where the machine is busy. */
  step<Result>(work: () => Result | Promise<Result>): Promise<Result>
}

/** Of two processors, half of one: with less, answers wait for each other. */
const IDLE_SHARE_MIN = 0.25
/** Shorter, and what is seen is the work itself, and the moment's chance. */
const WINDOW_MS = 500
const STEP = 1_000
/** Times as long as a step took: of one processor such work takes a ninth. */
const REST = 8
/** What took longer waited itself. */
const REST_MS_MAX = 100

/** Until the first look, and half a second has passed, the machine is taken for idle. Seen are its own processors, not those of a database elsewhere. */
export function watchSpareTime(read = processorTime, rest: (ms: number) => Promise<void> = pause): SpareTime {
  let before = read()
  let isBusy = false
  const look = () => {
    const now = read()
    const passed = now.all - before.all
    if (passed < WINDOW_MS) return
    isBusy = now.idle - before.idle < passed * IDLE_SHARE_MIN
    before = now
  }
  const restSince = async (began: number) => {
    if (isBusy) await rest(Math.min((performance.now() - began) * REST, REST_MS_MAX))
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
      for (look(); isBusy && first < count; look()) {
        const began = performance.now()
        const end = Math.min(first + STEP, count)
        parts.push(await work(first, end))
        first = end
        if (first < count) await restSince(began)
      }
      const size = Math.max(1, Math.ceil((count - first) / partsAtOnce))
      const left: Promise<Part>[] = []
      for (; first < count; first += size) left.push(work(first, Math.min(first + size, count)))
      return parts.concat(await Promise.all(left))
    },
    async step(work) {
      const began = performance.now()
      const result = await work()
      await restSince(began)
      return result
    },
  }
}

function processorTime(): ProcessorTime {
  const times = cpus().map((processor) => processor.times)
  const idle = times.reduce((sum, each) => sum + each.idle, 0)
  const busy = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0)
  return { idle: idle / times.length, all: (idle + busy) / times.length }
}
