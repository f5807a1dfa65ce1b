import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { call, testApp, testKey, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { startRedis } from '../../test/redis.ts'
import { newApiKey } from '../accounts/api-key.ts'
import { unavailable } from '../core/errors.ts'
import { SILENT } from '../core/log.ts'
import { SCOPES } from '../core/scopes.ts'
import { openCounter, openLocalBuckets } from './rate-limit.ts'
import { openSharedBuckets } from './shared-rate-limit.ts'

test('a bucket gives its burst at once, then one token per refill, and is full again at its reset', async () => {
  let now = 1_700_000_000_000
  const buckets = openLocalBuckets({ perSecond: 10, burst: 5 }, () => now)
  const remaining: number[] = []
  for (let i = 0; i < 5; i++) remaining.push((await buckets.take('a')).remaining)
  assert.deepEqual(remaining, [4, 3, 2, 1, 0])
  assert.deepEqual(await buckets.take('a'), {
    allowed: false,
    remaining: 0,
    resetSeconds: 1,
    retryAfterSeconds: 1,
  })
  assert.equal((await buckets.take('b')).allowed, true)
  now += 100
  assert.equal((await buckets.take('a')).allowed, true)
  assert.equal((await buckets.take('a')).allowed, false)
  now += 500
  assert.equal((await buckets.take('a')).remaining, 4)
})

test('in any stretch of time a bucket gives at most its burst and what flowed in', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 }),
      (perSecond, burst, pauses) => {
        let now = 1_700_000_000_000
        const buckets = openLocalBuckets({ perSecond, burst }, () => now)
        const start = now
        let given = 0
        for (const pause of pauses) {
          now += pause
          const take = buckets.take('a')
          assert.ok(!(take instanceof Promise))
          if (take.allowed) given += 1
          assert.ok(given <= burst + ((now - start) * perSecond) / 1_000 + 0.1)
          assert.ok(
            take.remaining >= 0 && take.remaining < burst && take.allowed === (take.retryAfterSeconds === 0),
          )
          if (!take.allowed) {
            // Whoever waits as long as he is told is let in.
            now += take.retryAfterSeconds * 1_000
            const next = buckets.take('a')
            assert.ok(!(next instanceof Promise) && next.allowed)
            given += 1
          }
        }
      },
    ),
  )
})

test('a counter lets the limit pass in each window', () => {
  let now = 0
  const counter = openCounter(2, 60_000, () => now)
  assert.deepEqual(
    [counter.count('a'), counter.count('a'), counter.count('a'), counter.count('b')],
    [0, 0, 60, 0],
  )
  now = 59_500
  assert.equal(counter.count('a'), 1)
  now = 60_000
  assert.equal(counter.count('a'), 0)
})

test('a wall clock that is set back refuses nobody', (t) => {
  let wallMs = 1_800_000_000_000
  t.mock.method(Date, 'now', () => wallMs)
  const buckets = openLocalBuckets({ perSecond: 10, burst: 5 })
  const counter = openCounter(1, 1)
  for (const name of ['a', 'b'])
    assert.deepEqual([buckets.take(name).allowed, counter.count(name)], [true, 0])
  wallMs -= 3_600_000
  const until = performance.now() + 2
  while (performance.now() < until);
  for (const name of ['a', 'b'])
    assert.deepEqual([buckets.take(name).allowed, counter.count(name)], [true, 0])
})

const gateway = await testGateway()

/** Buckets fill with time: on a busy machine a few requests take as long as one of them needs. */
function stopClock({ mock }: TestContext): void {
  const at = Math.ceil(performance.now())
  mock.method(performance, 'now', () => at)
}

test('every answer to a key says what is left, and one too many is answered with 429', async (t) => {
  stopClock(t)
  const app = await testApp(gateway, { rateLimit: { perSecond: 1, burst: 3 } })
  const { account, key } = await testMerchant(gateway.db)
  const poor = await testKey(gateway.db, account, ['balance:read'])
  const sent: unknown[] = []
  for (const [caller, path] of [
    [key, '/webhooks'],
    [key, '/webhooks?nonsense=1'],
    [key, '/payments/pay_none'],
    [poor, '/webhooks'],
  ] as const) {
    const { status, headers } = await call(app, caller, 'GET', path)
    sent.push([
      status,
      headers['ratelimit-limit'],
      headers['ratelimit-remaining'],
      headers['ratelimit-reset'],
    ])
  }
  assert.deepEqual(sent, [
    [200, '3', '2', '1'],
    [400, '3', '1', '2'],
    [404, '3', '0', '3'],
    [403, '3', '2', '1'],
  ])
  const answer = await call(app, key, 'GET', '/webhooks')
  assert.equal(answer.status, 429)
  assert.equal(answer.error.code, 'RATE_LIMIT_EXCEEDED')
  assert.equal(answer.headers['retry-after'], '1')
  assert.equal(answer.headers['ratelimit-remaining'], '0')
  assert.equal((await call(app, (await testMerchant(gateway.db)).key, 'GET', '/webhooks')).status, 200)
})

test('fifty wrong keys a minute are answered with 401, then 429; a good key is never locked out', async (t) => {
  stopClock(t)
  const app = await testApp(gateway)
  const { key } = await testMerchant(gateway.db)
  for (let i = 0; i < 50; i++) {
    const wrong = i % 2 === 0 ? newApiKey('test') : 'bk_test_wrong'
    assert.equal((await call(app, wrong, 'GET', '/webhooks')).status, 401)
  }
  const answer = await call(app, newApiKey('live'), 'GET', '/webhooks')
  assert.deepEqual([answer.status, answer.error.code], [429, 'RATE_LIMIT_EXCEEDED'])
  assert.ok(Number(answer.headers['retry-after']) >= 1)
  assert.equal((await call(app, key, 'GET', '/webhooks')).status, 200)
  assert.equal((await call(app, null, 'GET', '/webhooks')).status, 401)
})

test('a good key is not counted as a wrong one while the database is not to be worked on', async () => {
  const refusal = unavailable('database_went_back', 'it is not what it was')
  const app = await testApp({ ...gateway, db: { ...gateway.db, query: () => Promise.reject(refusal) } })
  for (let i = 0; i < 60; i++) {
    const { status, error } = await call(app, newApiKey('live'), 'GET', '/webhooks')
    assert.deepEqual([status, error.message], [503, 'it is not what it was'])
  }
})

test('with Redis two processes share one bucket; without it each counts for itself until it is back', async () => {
  const redis = await startRedis()
  const notes: string[] = []
  const log = {
    ...SILENT,
    warn: (_: object, note: string) => notes.push(note),
    info: (_: object, note: string) => notes.push(note),
  }
  const size = { perSecond: 0.01, burst: 10 }
  const open = () => openSharedBuckets(redis.url, size, log)
  const [one, two] = [await open(), await open()]
  const ready = async (buckets: typeof one) => {
    // The first answers may come from the process itself, while it connects.
    for (
      let i = 0;
      (await buckets.take(`warm-${i}`)).remaining !== 9 || notes.at(-1)?.includes('not answer');
      i++
    ) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  try {
    await ready(one)
    await ready(two)
    const takes = await Promise.all(
      Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? one : two).take('key')),
    )
    assert.equal(takes.filter((take) => take.allowed).length, 10)
    assert.deepEqual(
      takes
        .filter((take) => take.allowed)
        .map((take) => take.remaining)
        .sort((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    )
    assert.ok(takes.every((take) => take.allowed || take.retryAfterSeconds === 100))

    notes.length = 0
    await redis.stop()
    const alone = await Promise.all(Array.from({ length: 12 }, () => one.take('key')))
    assert.equal(alone.filter((take) => take.allowed).length, 10)
    assert.deepEqual(notes, ['Redis does not answer: this process counts rates for itself'])
    await redis.start()
    while (!notes.includes('Redis answers again: rate limits are shared')) {
      await one.take('other')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  } finally {
    await one.close()
    await two.close()
  }
})

test('an application with Redis limits as one without', async () => {
  const redis = await startRedis()
  const { key } = await testMerchant(gateway.db, { scopes: SCOPES })
  const rateLimit = { perSecond: 0.01, burst: 4 }
  const apps = [
    await testApp(gateway, { rateLimit, redisUrl: redis.url }),
    await testApp(gateway, { rateLimit, redisUrl: redis.url }),
  ]
  const statuses: number[] = []
  // Those of a process that still connects are counted by itself: at most its own burst more.
  for (let i = 0; i < 30; i++) {
    const app = apps[i % 2]
    assert.ok(app)
    statuses.push((await call(app, key, 'GET', '/webhooks')).status)
  }
  assert.equal(statuses.at(-1), 429)
  assert.ok(statuses.filter((status) => status === 200).length <= 12)
})
