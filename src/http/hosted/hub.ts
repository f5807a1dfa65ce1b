/**
 * One look for all open pages of this process: every few hundred milliseconds one query asks which of the watched
 * checkouts changed, and only their pages hear of it. A block moves them all, so that is looked for more often, and
 * the look follows at once. Nothing is asked while no page is open.
 */
import type { SessionId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'

/** What the hub needs of a moment; `CheckoutMoment` fits. */
export interface Moment {
  readonly sessionId: SessionId
  readonly version: string
}

/** Gets the news of one page. Kept as small as can be: ten thousand are open at once. */
export interface Listener {
  /** @param waitMs - When to ask for the page: a block moves many pages, which should not all come at once. */
  hear(version: string, waitMs: number): void
}

export interface Hub {
  /** @param version - The newest that is known of the session. */
  listen(id: SessionId, version: string, listener: Listener): void
  leave(id: SessionId, listener: Listener): void
  stop(): Promise<void>
}

export interface HubOptions {
  /** The moments of those sessions that are no more at their version. */
  changed(known: readonly { readonly id: SessionId; readonly version: string }[]): Promise<readonly Moment[]>
  /** Another text after every block of any chain; asked ten times a second. */
  pulse(): Promise<string>
  readonly log: Log
  /** From the end of one look to the begin of the next; longer when looks take longer. */
  readonly pauseMs?: number
}

const PAUSE_MS = 250
const PULSE_MS = 100
/** After looks that failed. */
const PAUSE_MS_MAX = 5_000
/** Sessions per query. A larger one is not faster, and leaves more garbage in memory at once. */
const BATCH = 500
/** What drawing a page may take: pages that hear of the same block ask so far apart. */
const SPREAD_MS = 4

interface Watched {
  version: string
  readonly listeners: Listener[]
}

export function openHub({ changed, pulse, log, pauseMs = PAUSE_MS }: HubOptions): Hub {
  const watched = new Map<SessionId, Watched>()
  let running: Promise<void> | null = null
  let stopping = false
  let endPause: (() => void) | undefined

  /** @param before - Pages told in the same look. @returns How many there are now. */
  const tell = (moments: readonly Moment[], before: number): number => {
    let told = before
    for (const { sessionId, version } of moments) {
      const one = watched.get(sessionId)
      if (!one || one.version === version) continue
      one.version = version
      for (const listener of one.listeners) listener.hear(version, told++ * SPREAD_MS)
    }
    return told
  }

  /** The database answers about the next ones while these are told. */
  const look = async () => {
    const known = [...watched].map(([id, { version }]) => ({ id, version }))
    let told = 0
    let asking = changed(known.slice(0, BATCH))
    for (let next = BATCH; ; next += BATCH) {
      const moments = await asking
      if (next < known.length) asking = changed(known.slice(next, next + BATCH))
      told = tell(moments, told)
      if (next >= known.length) return
    }
  }

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  /** Ends early when a block came since `before` was read. */
  const pauseUntilBlock = async (ms: number, before: string) => {
    for (const end = performance.now() + ms; performance.now() < end && !stopping; ) {
      await pause(Math.min(ms, PULSE_MS))
      if ((await pulse()) !== before) return
    }
  }

  const run = async () => {
    let failures = 0
    while (watched.size > 0 && !stopping) {
      const began = performance.now()
      try {
        const before = await pulse()
        await look()
        failures = 0
        await pauseUntilBlock(Math.max(pauseMs, performance.now() - began), before)
      } catch (error) {
        failures += 1
        if (failures === 1) log.warn({ err: error }, 'open checkout pages cannot be kept live; trying again')
        await pause(Math.min(PAUSE_MS_MAX, pauseMs * 2 ** failures))
      }
    }
    running = null
  }

  return {
    listen(id, version, listener) {
      const one = watched.get(id)
      if (!one) watched.set(id, { version, listeners: [listener] })
      else {
        if (one.version !== version) {
          one.version = version
          for (const other of one.listeners) other.hear(version, 0)
        }
        one.listeners.push(listener)
      }
      running ??= run()
    },
    leave(id, listener) {
      const one = watched.get(id)
      const position = one?.listeners.indexOf(listener) ?? -1
      if (!one || position < 0) return
      one.listeners.splice(position, 1)
      if (one.listeners.length === 0) watched.delete(id)
    },
    async stop() {
      stopping = true
      endPause?.()
      await running
    },
  }
}
