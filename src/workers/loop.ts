/** A loop that does one turn after another until it is stopped, and survives every failure of a turn. */
import { withoutCredentials } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { type Backoff, backoffMs, pause } from '../core/pause.ts'

export interface LoopOptions {
  readonly name: string
  /** Pause after a turn that found nothing to do. */
  readonly idleMs: number
  /** The pause after a turn that failed, whoever wakes it; half a second unless told, and twice as long behind each further one. */
  readonly failureMsMin?: number
  /** The longest of these; ten seconds unless told. */
  readonly failureMsMax?: number
  /**
   * So long rests the loop after a turn that found nothing more, whoever wakes it: what comes meanwhile is one turn. Not at all
   * unless told.
   */
  readonly restMs?: (tookMs: number) => number
  readonly log: Log
  /** One turn; true when there may be more to do at once. */
  turn(signal: AbortSignal): Promise<boolean>
}

export interface Loop {
  /** Ends the pause early. */
  wake(): void
  /** Resolves when the running turn has ended. */
  stop(): Promise<void>
}

/** Several loops as one. */
export const joined = (loops: readonly Loop[]): Loop => ({
  wake() {
    for (const loop of loops) loop.wake()
  },
  async stop() {
    await Promise.all(loops.map((loop) => loop.stop()))
  },
})

/** Requests wake loops; a thousand of them a second are to cost no more turns than fifty, and who comes between waits no longer. */
const GATHER_MS = 20

/** Wakes at once, and whatever else is asked for within as many milliseconds as one, at their end. */
export function gatherWakes<Name>(wake: (name: Name) => void, gatherMs = GATHER_MS): (name: Name) => void {
  const gathering = new Map<Name, { again: boolean }>()
  return function gathered(name) {
    const running = gathering.get(name)
    if (running) {
      running.again = true
      return
    }
    const window = { again: false }
    gathering.set(name, window)
    setTimeout(() => {
      gathering.delete(name)
      if (window.again) gathered(name)
    }, gatherMs).unref()
    wake(name)
  }
}

const REST_TIMES = 4
const REST_MS_MAX = 100
/** For turns whose cost hardly depends on how much they find: a fifth of the time, while they are short; nobody waits for more than a tenth of a second. */
export const restAfter = (tookMs: number): number => Math.min(REST_MS_MAX, REST_TIMES * tookMs)

const FAILURE_PAUSE: Backoff = { firstMs: 500, maxMs: 10_000 }

export function startLoop(options: LoopOptions): Loop {
  const { failureMsMin: firstMs = FAILURE_PAUSE.firstMs, failureMsMax: maxMs = FAILURE_PAUSE.maxMs } = options
  const stopping = new AbortController()
  let woken = new AbortController()
  const pauseUntilWoken = (ms: number) => pause(ms, woken.signal)

  const running = (async () => {
    let failures = 0
    while (!stopping.signal.aborted) {
      woken = new AbortController()
      try {
        const began = performance.now()
        const more = await options.turn(stopping.signal)
        failures = 0
        if (more) continue
        if (options.restMs) await pause(options.restMs(performance.now() - began), stopping.signal)
        await pauseUntilWoken(options.idleMs)
      } catch (error) {
        if (stopping.signal.aborted) return
        failures += 1
        // Nodes, exchanges and databases are named by URLs, which hold passwords.
        if (error instanceof Error) error.message = withoutCredentials(error.message)
        options.log.error(
          { loop: options.name, failures, err: error },
          `a turn of the ${options.name} loop failed; it goes on`,
        )
        // However often it is woken, what keeps failing is not tried in one breath.
        await pause(firstMs, stopping.signal)
        const restMs = backoffMs(failures, { firstMs, maxMs }) - firstMs
        if (restMs > 0) await pauseUntilWoken(restMs)
      }
    }
  })()

  return {
    wake: () => woken.abort(),
    async stop() {
      stopping.abort()
      woken.abort()
      await running
    },
  }
}
