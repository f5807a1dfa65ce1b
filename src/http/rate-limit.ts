/**
 * Token buckets, kept as one number each (GCRA): the instant at which the bucket will be full again. A request moves
 * it on by the time one token takes to refill; a request that would move it further ahead than the whole bucket
 * takes is refused. Times are those of the steady clock: one that is set back would refuse everybody until it was there again.
 */
import { sharesOf } from '../core/networks.ts'

export interface BucketSize {
  /** Tokens that flow in each second. */
  readonly perSecond: number
  /** Tokens a full bucket holds. */
  readonly burst: number
}

export interface Take {
  readonly allowed: boolean
  /** Tokens left. */
  readonly remaining: number
  /** Seconds, rounded up, until the bucket is full. */
  readonly resetSeconds: number
  /** Seconds, rounded up, until there is a token again; 0 when there is one. */
  readonly retryAfterSeconds: number
}

export interface RateLimiter {
  readonly size: BucketSize
  take(name: string): Take | Promise<Take>
  close(): Promise<void>
}

const SWEEP_MS = 60_000
/** A hundredth of a token: what adding up fractions of milliseconds may be off by. */
export const TOLERANCE = 0.01

export interface LocalBuckets extends RateLimiter {
  take(name: string): Take
  /** Puts a token back that was taken. */
  giveBack(name: string): void
  /** Takes one of those that are there beyond so many. */
  takeBeyond(name: string, kept: number): void
}

/** Buckets of this process alone. */
export function openLocalBuckets(
  size: BucketSize,
  now: () => number = () => performance.now(),
): LocalBuckets {
  const fullAt = new Map<string, number>()
  const refillMs = 1_000 / size.perSecond
  let sweptAt = now()
  return {
    size,
    take(name) {
      const at = now()
      if (at - sweptAt > SWEEP_MS) {
        sweptAt = at
        for (const [key, full] of fullAt) if (full <= at) fullAt.delete(key)
      }
      const full = Math.max(at, fullAt.get(name) ?? at)
      const allowed = full + refillMs - at <= (size.burst + TOLERANCE) * refillMs
      if (allowed) fullAt.set(name, full + refillMs)
      return describeTake(size, allowed, (allowed ? full + refillMs : full) - at)
    },
    giveBack(name) {
      const full = fullAt.get(name)
      if (full !== undefined) fullAt.set(name, full - refillMs)
    },
    takeBeyond(name, kept) {
      const at = now()
      const full = Math.max(at, fullAt.get(name) ?? at) + refillMs
      if (full - at <= (size.burst - kept) * refillMs) fullAt.set(name, full)
    },
    close: async () => {},
  }
}

/** Buckets of hosts, and of the networks around them, in their order: whoever rents one machine can have them all. */
export function openLevels(size: BucketSize, now?: () => number): readonly LocalBuckets[] {
  const rates = sharesOf(size.perSecond)
  return sharesOf(size.burst).map((burst, level) =>
    openLocalBuckets({ perSecond: rates[level] ?? size.perSecond, burst }, now),
  )
}

/** Seconds, rounded up: a millionth of one is what adding up fractions of milliseconds may be off by. */
const secondsOf = (ms: number): number => Math.max(0, Math.ceil(ms / 1_000 - 1e-6))

/** @param untilFullMs - From now until the bucket is full. */
export function describeTake(size: BucketSize, allowed: boolean, untilFullMs: number): Take {
  const refillMs = 1_000 / size.perSecond
  const missing = untilFullMs / refillMs
  return {
    allowed,
    remaining: Math.max(0, Math.floor(size.burst - missing + TOLERANCE)),
    resetSeconds: secondsOf(untilFullMs),
    retryAfterSeconds: allowed ? 0 : Math.max(1, secondsOf(untilFullMs - (size.burst - 1) * refillMs)),
  }
}

/** Counts events per name in windows of fixed length. */
export interface Counter {
  /** Counts one more; seconds to wait when that was more than the limit, else 0. */
  count(name: string): number
  /** Seconds to wait when the limit is reached already, else 0. */
  waitOf(name: string): number
}

export function openCounter(
  limit: number,
  windowMs: number,
  now: () => number = () => performance.now(),
): Counter {
  const windows = new Map<string, { until: number; seen: number }>()
  return {
    waitOf(name) {
      const window = windows.get(name)
      const waitMs = window && window.seen >= limit ? window.until - now() : 0
      return secondsOf(waitMs)
    },
    count(name) {
      const at = now()
      let window = windows.get(name)
      if (!window || window.until <= at) {
        if (windows.size >= 10_000)
          for (const [key, { until }] of windows) if (until <= at) windows.delete(key)
        window = { until: at + windowMs, seen: 0 }
        windows.set(name, window)
      }
      window.seen += 1
      return window.seen > limit ? secondsOf(window.until - at) : 0
    },
  }
}
