/** The buckets of all processes, in Redis. While Redis is away each process counts for itself. */
import { withoutCredentials } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { type BucketSize, describeTake, openLocalBuckets, type RateLimiter, TOLERANCE } from './rate-limit.ts'

/**
 * The same arithmetic as the local buckets, on Redis' clock, in one step. Answers whether a token was taken and how many
 * milliseconds are missing until the bucket is full.
 */
const TAKE = `
local time = redis.call('time')
local now = time[1] * 1000 + time[2] / 1000
local refill, whole = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(now, tonumber(redis.call('get', KEYS[1]) or now))
local allowed = full + refill - now <= whole
if allowed then
  full = full + refill
  redis.call('set', KEYS[1], string.format('%.3f', full), 'px', math.ceil(full - now))
end
return { allowed and 1 or 0, string.format('%.3f', full - now) }`

/** A request does not wait longer than this for Redis. */
const ANSWER_WITHIN_MS = 100

/** Loads the client of Redis, which nobody else pays for. */
export async function openSharedBuckets(
  url: string,
  size: BucketSize,
  log: Log,
  concerns: Map<string, string> = new Map(),
): Promise<RateLimiter> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: ANSWER_WITHIN_MS,
    retryStrategy: (attempt) => Math.min(5_000, 100 * attempt),
  })
  const own = openLocalBuckets(size)
  const refillMs = 1_000 / size.perSecond
  const whole = (size.burst + TOLERANCE) * refillMs
  const where = { redis: withoutCredentials(url) }
  let away = false
  // Told before anybody asks: with a wrong URL each process counts for itself from the start.
  const concern = `Redis at ${where.redis} does not answer: each process counts rates for itself; start it, or correct REDIS_URL`
  redis.on('error', () => concerns.set('redis', concern))
  redis.on('close', () => concerns.set('redis', concern))
  redis.on('ready', () => concerns.delete('redis'))

  return {
    size,
    async take(name) {
      try {
        const [allowed, missing] = (await redis.eval(TAKE, 1, `beck:rate:${name}`, refillMs, whole)) as [
          number,
          string,
        ]
        if (away) log.info(where, 'Redis answers again: rate limits are shared')
        away = false
        return describeTake(size, allowed === 1, Number(missing))
      } catch (error) {
        if (!away)
          log.warn({ ...where, err: error }, 'Redis does not answer: this process counts rates for itself')
        away = true
        return own.take(name)
      }
    },
    close: async () => redis.disconnect(),
  }
}
