/**
 * What a virtual machine does to a measurement of milliseconds: its processors are taken away for tens of them, most often right
 * after they slept, and its disk for hundreds. So processors are kept awake by whoever wants nothing else, and what happened while
 * one, or the disk, was gone is not counted. Needs Linux with `taskset` and `chrt` (util-linux).
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { pause } from '../src/core/pause.ts'

/** A processor that was gone for less is not told from one that was busy in its kernel. */
const LATE_MS = 8
/** The same of the disk, which takes one or two milliseconds for what it is asked here. */
const DISK_LATE_MS = 40
/** What had piled up while either was gone is worked off in about twice as long. */
const AFTER = 2
/** Until whoever started it is gone. */
const KEEP_AWAKE = `while (process.ppid === ${process.pid}) for (let turn = 0; turn < 1e7; turn++);`
const STEP_MS = 200
/** So many times as long as was asked for, until enough of it is known. */
const PATIENCE = 8

interface Gap {
  /** `performance.now()` of this process. */
  readonly from: number
  readonly to: number
}

export interface Given {
  /** Milliseconds in which the machine had its processors and its disk. */
  readonly givenMs: number
  readonly allMs: number
  /** Whether it had them from one instant to another (`performance.now()`). */
  wasGiven(fromMs: number, toMs: number): boolean
}

export interface SteadyMachine {
  /**
   * Lets something run until the machine had them for so long.
   *
   * @throws {Error} on a machine that others use all the time.
   */
  untilGiven(forMs: number): Promise<Given>
  /** Sees what it had while something runs. */
  during<Result>(work: () => Promise<Result>): Promise<[Result, Given]>
  stop(): void
}

/**
 * @param options.isKeptAwake - Not for what looks at how busy the machine is itself: it would see no idle processor any more.
 */
export function steadyMachine({ isKeptAwake = true } = {}): SteadyMachine {
  const children: ChildProcess[] = []
  let gaps: Gap[] = []
  const offset = performance.now() - Number(process.hrtime.bigint()) / 1e6
  const note = ({ from, to }: Gap) => gaps.push({ from: from + offset, to: to + offset })
  for (const processor of processors()) {
    const pinned = ['taskset', '--cpu-list', String(processor)]
    if (isKeptAwake) {
      const awake = ['--idle', '0', ...pinned, process.execPath, '-e', KEEP_AWAKE]
      const keeper = spawn('chrt', awake, { stdio: 'ignore', detached: true })
      children.push(keeper)
      wantLeast(keeper)
    }
    const canary = fork(fileURLToPath(new URL('./canary.ts', import.meta.url)), [String(LATE_MS)], {
      // It takes next to nothing, and is to wake at once.
      execPath: 'chrt',
      execArgv: ['--rr', '1', ...pinned, process.execPath],
    })
    canary.on('message', note)
    canary.once('exit', (code) => {
      if (code) throw new Error('no canary can be put on a processor: this needs taskset and chrt, as root')
    })
    children.push(canary)
  }
  const disk = fork(fileURLToPath(new URL('./disk-canary.ts', import.meta.url)), [String(DISK_LATE_MS)])
  children.push(disk.on('message', note))
  return {
    async untilGiven(forMs) {
      const begun = performance.now()
      gaps = []
      let now = begun
      let taken: readonly Gap[] = []
      while (now - begun - total(taken) < forMs) {
        await pause(STEP_MS)
        now = performance.now()
        taken = withAftermath(gaps)
        if (now - begun > forMs * PATIENCE)
          throw new Error('nothing can be measured on a machine that others use')
      }
      return givenBut(taken, now - begun)
    },
    async during(work) {
      const begun = performance.now()
      gaps = []
      const result = await work()
      const allMs = performance.now() - begun
      // What the last gap says is under way.
      await pause(STEP_MS)
      return [result, givenBut(withAftermath(gaps), allMs)]
    },
    stop() {
      for (const child of children) child.removeAllListeners('exit').kill('SIGKILL')
    },
  }
}

/**
 * Its priority counts against everybody, and not only within the session that it was started in: Linux deals processors out to
 * sessions first, where it groups by them (`sched_autogroup`), and only then to who runs in each.
 *
 * @param child - Started `detached`, in a session of its own.
 */
export function wantLeast({ pid }: ChildProcess): void {
  const group = `/proc/${pid}/autogroup`
  if (!existsSync(group)) return
  try {
    writeFileSync(group, '19')
  } catch (cause) {
    throw new Error('a bench gives its helpers the least priority as root (CAP_SYS_ADMIN)', { cause })
  }
}

/** Those that this process may run on. */
function processors(): readonly number[] {
  const list = /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
  const allowed = list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
  return allowed.length > 0 ? allowed : Array.from({ length: availableParallelism() }, (_, index) => index)
}

function givenBut(taken: readonly Gap[], allMs: number): Given {
  return {
    givenMs: allMs - total(taken),
    allMs,
    wasGiven: (fromMs, toMs) => taken.every(({ from, to }) => toMs < from || fromMs > to),
  }
}

/** With the time in which what had piled up was worked off. */
const withAftermath = (gaps: readonly Gap[]): readonly Gap[] =>
  merged(gaps.map(({ from, to }) => ({ from, to: to + (to - from) * AFTER })))

/** In order, and none within another. */
function merged(gaps: readonly Gap[]): readonly Gap[] {
  const result: Gap[] = []
  for (const gap of gaps.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last && gap.from <= last.to)
      result[result.length - 1] = { from: last.from, to: Math.max(last.to, gap.to) }
    else result.push(gap)
  }
  return result
}

const total = (gaps: readonly Gap[]): number => gaps.reduce((sum, { from, to }) => sum + to - from, 0)
