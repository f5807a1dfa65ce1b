/**
 * What a start leaves behind, and a crowd that went: a quarter of the heap is garbage after a start, and the space for young objects has
 * grown to its full size while modules were read; of ten thousand pages that were opened three quarters are. V8 would keep both until
 * there is work enough to look; a process that waits for work would hold them for days.
 *
 * @see https://nodejs.org/api/v8.html#v8setflagsfromstringflags
 */
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A start is over by then, and what it left is old enough. */
const AFTER_MS = 2_000
/** So often it is looked whether a crowd left something. */
const LOOK_MS = 10_000
/** And not again so soon: an API that has a little to do all the time is not halted all the time. */
const AGAIN_MS = 5 * 60_000
/** Less is not worth a halt of a tenth of a second. */
const WORTH_BYTES = 64 * 2 ** 20
/** A process whose event loop did something for more of the time is left alone. */
const BUSY_MAX = 0.1
/** Twice as much holds some 15 MB more with thousands of deliveries in flight, and saves a thirtieth of a busy worker's processor. */
const YOUNG_BYTES_MAX = 8 * 2 ** 20

/**
 * Soon, and whenever a process that has little to do holds much more than it did: it takes a tenth of a second, in which nothing else is done.
 *
 * @param options.boundsYoungSpace - Where nobody waits for what the process does: {@link boundYoungSpace}.
 */
export function giveBackMemory({ boundsYoungSpace }: { readonly boundsYoungSpace: boolean }): void {
  // Of young objects little lives on: helpers that share it out take processors from whoever answers, and save next to nothing.
  setFlagsFromString('--no-parallel-scavenge')
  if (boundsYoungSpace) boundYoungSpace()
  setTimeout(() => {
    collectGarbage()
    giveBackWhenIdle(LOOK_MS)
  }, AFTER_MS).unref()
}

/** Of the collections that can be asked for, no gentler one shrinks the space for young objects. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: NodeJS.GCFunction | undefined = runInNewContext('globalThis.gc')
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** @param everyMs - It looks. */
export function giveBackWhenIdle(everyMs: number): void {
  let least = heapBytes()
  let before = performance.eventLoopUtilization()
  let waitsUntil = 0
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    const held = heapBytes()
    least = Math.min(least, held)
    if (utilization > BUSY_MAX || held - least < WORTH_BYTES || performance.now() < waitsUntil) return
    collectGarbage()
    least = heapBytes()
    waitsUntil = performance.now() + AGAIN_MS
  }, everyMs).unref()
}

const heapBytes = (): number => process.memoryUsage().heapTotal

/**
 * From now on the space for young objects grows to {@link YOUNG_BYTES_MAX}; what one turn of the event loop makes, as where a block is
 * read, takes it further until V8 has time to shrink it. With thousands of deliveries in flight it would grow to its full size,
 * and hold as garbage what a smaller one had collected long before: a third of such a process. It is for what nobody waits
 * for, since each collection of young objects halts all else, if only for a moment. A space that may never grow is no bargain:
 * V8 shrinks it to a megabyte, and a busy process then spends a fifth of its time on collecting. Threads have spaces of their
 * own, which grow while this one may.
 */
export function boundYoungSpace(): void {
  let grows = true
  new PerformanceObserver(() => {
    const isLarge = youngSpaceBytes() >= YOUNG_BYTES_MAX
    if (isLarge !== grows) return
    grows = !isLarge
    setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
  }).observe({ entryTypes: ['gc'] })
}

/** Both halves: one is in use, the other is where V8 moves what is still needed. */
const youngSpaceBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
