/** Says once why something waits, not at every turn, however many wait. */
import type { ChainName } from '../core/assets.ts'
import type { Log } from '../core/log.ts'

const NAMED_MAX = 10_000
const SUMMARY_MS = 60_000
/** Longer than a scan of everything that waits takes. */
const FORGOTTEN_AFTER_MS = 3_600_000

const named = new Map<string, { reason: string; seenAtMs: number }>()
const unnamed = { count: 0, saidAtMs: Number.NEGATIVE_INFINITY }

export function logWaiting({ log }: { log: Log }, chain: ChainName, what: string, reason: string): void {
  const key = `${chain} ${what}`
  const seenAtMs = performance.now()
  // What left within a day changes with every payout; why something waits does not.
  const lasting = reason.replace(/\d+(\.\d+)?/g, '#')
  const before = named.get(key)
  if (!before && named.size >= NAMED_MAX) {
    unnamed.count += 1
    if (seenAtMs - unnamed.saidAtMs < SUMMARY_MS) return
    log.warn({ unnamed: unnamed.count }, 'more wait than are named')
    unnamed.count = 0
    unnamed.saidAtMs = seenAtMs
    for (const [old, entry] of named) if (seenAtMs - entry.seenAtMs > FORGOTTEN_AFTER_MS) named.delete(old)
    return
  }
  named.set(key, { reason: lasting, seenAtMs })
  if (before?.reason !== lasting) log.warn({ chain, what, reason }, 'a withdrawal waits')
}

/** It waits no longer. */
export function forgetWaiting(chain: ChainName, what: string): void {
  named.delete(`${chain} ${what}`)
}
