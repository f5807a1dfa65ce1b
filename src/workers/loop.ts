/** A loop that does one turn after another until it is stopped, and survives every failure of a turn. */
import { withoutCredentials } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

export interface LoopOptions {
  readonly name: string
  /** Pause after a turn that found nothing to do. */
  readonly idleMs: number
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

/** Requests wake loops; a thousand of them a second are to cost no more turns than twenty. */
const GATHER_MS = 50

/** Wakes at once, and whatever else is asked for within 50 ms as one, at their end. */
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

const FAILURE_PAUSE_MS_MAX = 10_000

export function startLoop(options: LoopOptions): Loop {
  const stopping = new AbortController()
  let woken = false
  let endPause: (() => void) | undefined
  const wake = () => {
    woken = true
    endPause?.()
  }
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (woken || stopping.signal.aborted) return resolve()
      const timer = setTimeout(resolve, ms)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const running = (async () => {
    let failures = 0
    while (!stopping.signal.aborted) {
      woken = false
      try {
        const more = await options.turn(stopping.signal)
        failures = 0
        if (!more) await pause(options.idleMs)
      } catch (error) {
        if (stopping.signal.aborted) return
        failures += 1
        // Nodes, exchanges and databases are named by URLs, which hold passwords.
        if (error instanceof Error) error.message = withoutCredentials(error.message)
        options.log.error(
          { loop: options.name, failures, err: error },
          `a turn of the ${options.name} loop failed; it goes on`,
        )
        await pause(Math.min(FAILURE_PAUSE_MS_MAX, 250 * 2 ** Math.min(failures, 6)))
      }
    }
  })()

  return {
    wake,
    async stop() {
      stopping.abort()
      wake()
      await running
    },
  }
}
