/**
 * One look for all open pages of this process: every few hundred milliseconds one query asks which of the watched
 * checkouts changed, and only their pages hear of it. A block moves them all, so that is looked for more often, and
 * the look follows at once. Nothing is asked while no page is open.
 */
import type { SessionId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { backoffMs, pause } from '../../core/pause.ts'

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
const FAILURE_PAUSE_MS_MAX = 5_000
/** Sessions per query. A larger one is not faster, and leaves more garbage in memory at once. */
const BATCH = 500
/** What drawing a page may take: pages that hear of the same block ask so far apart. */
const SPREAD_MS = 4

interface Watched {
  version: string
  readonly listeners: Listener[]
}

export function openHub(options: HubOptions): Hub {
  return new PollingHub(options)
}

class PollingHub implements Hub {
  readonly #options: HubOptions
  readonly #watched = new Map<SessionId, Watched>()
  readonly #stopping = new AbortController()
  #running: Promise<void> | null = null

  constructor(options: HubOptions) {
    this.#options = options
  }

  listen(id: SessionId, version: string, listener: Listener): void {
    const one = this.#watched.get(id)
    if (!one) this.#watched.set(id, { version, listeners: [listener] })
    else {
      if (one.version !== version) {
        one.version = version
        for (const other of one.listeners) other.hear(version, 0)
      }
      one.listeners.push(listener)
    }
    this.#running ??= this.#run()
  }

  leave(id: SessionId, listener: Listener): void {
    const one = this.#watched.get(id)
    const position = one?.listeners.indexOf(listener) ?? -1
    if (!one || position < 0) return
    one.listeners.splice(position, 1)
    if (one.listeners.length === 0) this.#watched.delete(id)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { pulse, log, pauseMs = PAUSE_MS } = this.#options
    let failures = 0
    while (this.#watched.size > 0 && !this.#stopping.signal.aborted) {
      const began = performance.now()
      try {
        const before = await pulse()
        await this.#look()
        failures = 0
        await this.#pauseUntilBlock(Math.max(pauseMs, performance.now() - began), before)
      } catch (error) {
        failures += 1
        if (failures === 1) log.warn({ err: error }, 'open checkout pages cannot be kept live; trying again')
        const backoff = { firstMs: 2 * pauseMs, maxMs: FAILURE_PAUSE_MS_MAX }
        await pause(backoffMs(failures, backoff), this.#stopping.signal)
      }
    }
    this.#running = null
  }

  /** The database answers about the next ones while these are told. */
  async #look(): Promise<void> {
    const { changed } = this.#options
    const known = [...this.#watched].map(([id, { version }]) => ({ id, version }))
    let told = 0
    let asking = changed(known.slice(0, BATCH))
    for (let next = BATCH; ; next += BATCH) {
      const moments = await asking
      if (next < known.length) asking = changed(known.slice(next, next + BATCH))
      told = this.#tell(moments, told)
      if (next >= known.length) return
    }
  }

  /** @param before - Pages told in the same look. @returns How many there are now. */
  #tell(moments: readonly Moment[], before: number): number {
    let told = before
    for (const { sessionId, version } of moments) {
      const one = this.#watched.get(sessionId)
      if (!one || one.version === version) continue
      one.version = version
      for (const listener of one.listeners) listener.hear(version, told++ * SPREAD_MS)
    }
    return told
  }

  /** Ends early when a block came since `before` was read. */
  async #pauseUntilBlock(ms: number, before: string): Promise<void> {
    const { signal } = this.#stopping
    for (const end = performance.now() + ms; performance.now() < end && !signal.aborted; ) {
      await pause(Math.min(ms, PULSE_MS), signal)
      if ((await this.#options.pulse()) !== before) return
    }
  }
}
