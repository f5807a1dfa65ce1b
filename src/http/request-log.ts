/**
 * Writes the log of API calls beside the calls: what was answered waits in memory for the next batch, and when the database
 * cannot keep up entries are dropped, never answers delayed.
 */
import { insertRequests, type LoggedRequest } from '../accounts/request-log.sql.ts'
import type { Log } from '../core/log.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { Queryable } from '../db/database.ts'

export interface RequestLog {
  add(request: LoggedRequest): void
  /** Writes what waits. */
  close(): Promise<void>
}

export interface RequestLogOptions {
  readonly everyMs?: number
  readonly batchMax?: number
  readonly waitingMax?: number
}

/** Often enough for who looks at the page, seldom enough to cost one statement for hundreds of calls. */
const EVERY_MS = 1_000
const BATCH_MAX = 1_000
/** Some seconds of all that one process can answer; a few megabytes. */
const WAITING_MAX = 10_000

export function openRequestLog(db: Queryable, log: Log, options: RequestLogOptions = {}): RequestLog {
  const { everyMs = EVERY_MS, batchMax = BATCH_MAX, waitingMax = WAITING_MAX } = options
  let waiting: LoggedRequest[] = []
  let dropped = 0
  let toldAt = Number.NEGATIVE_INFINITY
  let writing: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null

  const write = async () => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax)
      waiting = waiting.slice(batchMax)
      try {
        await insertRequests(db, batch)
      } catch (error) {
        dropped += batch.length
        tell(error)
      }
    }
    if (dropped > 0) tell(null)
  }
  const tell = (error: unknown) => {
    if (performance.now() - toldAt < MINUTE_MS) return
    toldAt = performance.now()
    log.warn(
      { dropped, ...(error ? { err: error } : {}) },
      'the log of API calls has gaps: calls were answered, not logged',
    )
    dropped = 0
  }
  const flush = (): Promise<void> => {
    writing ??= write().finally(() => {
      writing = null
    })
    return writing
  }

  return {
    add(request) {
      if (waiting.length >= waitingMax) {
        dropped += 1
        return
      }
      waiting.push(request)
      // Nothing ticks while nobody calls.
      timer ??= setTimeout(() => {
        timer = null
        void flush()
      }, everyMs).unref()
    },
    async close() {
      if (timer) clearTimeout(timer)
      await flush()
      await flush()
    },
  }
}
