/** Whether the Redis that REDIS_URL names answers: with a wrong one each process counts rates for itself, and nothing else shows it. */
import type { Config } from '../../config/config.ts'
import { messageOf, withoutCredentials } from '../../core/errors.ts'
import { type Finding, fine, wrong } from './finding.ts'

const LIMIT_MS = 2_000

export async function* redis(config: Pick<Config, 'redisUrl'>): AsyncGenerator<Finding> {
  if (config.redisUrl === null) return
  const where = withoutCredentials(config.redisUrl)
  const { Redis } = await import('ioredis')
  const client = new Redis(config.redisUrl, {
    lazyConnect: true,
    connectTimeout: LIMIT_MS,
    commandTimeout: LIMIT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // Its reason, where `connect` says only that the connection is closed.
  let why: unknown
  client.on('error', (error) => {
    why ??= error
  })
  try {
    await client.connect()
    await client.ping()
    yield fine('redis', `${where} answers`)
  } catch (error) {
    const reason = messageOf(why ?? error) || 'the connection was refused'
    yield wrong(
      'redis',
      `${where}: ${reason}; each process counts rates for itself`,
      'start it, or correct REDIS_URL',
    )
  } finally {
    client.disconnect()
  }
}
