import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { ClientGone } from './errors.ts'
import { openWorkLimit } from './work-limit.ts'

/** Work that says when it begins, and ends when all of it may. */
function slowWork() {
  const done = Promise.withResolvers<void>()
  const begun: string[] = []
  const slow = (name: string) => async () => {
    begun.push(name)
    await done.promise
  }
  return { begun, done, slow }
}

test('one account’s slow reads wait for one another; its writes and other accounts do not wait for them', async () => {
  const limit = openWorkLimit({ running: 3, reading: 2, gathered: 1, waiting: 10 })
  const { begun, done, slow } = slowWork()
  const all = [
    limit.run('a', 'read', slow('read 1')),
    limit.run('a', 'read', slow('read 2')),
    limit.run('a', 'read', slow('read 3')),
    limit.run('a', 'write', slow('write 1')),
    limit.run('a', 'write', slow('write 2')),
    limit.run('b', 'read', slow('other')),
  ]
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['read 1', 'read 2', 'write 1', 'other'])
  done.resolve()
  await Promise.all(all)
  assert.deepEqual(begun, ['read 1', 'read 2', 'write 1', 'other', 'read 3', 'write 2'])
})

test('changes that share connections have places of their own, and wait in the same line', async () => {
  const limit = openWorkLimit({ running: 1, reading: 1, gathered: 2, waiting: 10 })
  const { begun, done, slow } = slowWork()
  const all = [
    limit.run('a', 'write', slow('write 1')),
    limit.run('a', 'write', slow('write 2')),
    limit.run('a', 'gathered', slow('gathered 1')),
    limit.run('a', 'gathered', slow('gathered 2')),
    limit.run('a', 'gathered', slow('gathered 3')),
  ]
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['write 1', 'gathered 1', 'gathered 2'])
  done.resolve()
  await Promise.all(all)
  assert.deepEqual(begun.slice(3).sort(), ['gathered 3', 'write 2'])
})

test('who waits behind too many is told so, and nothing is begun for one who has left', async () => {
  const limit = openWorkLimit({ running: 1, reading: 1, gathered: 1, waiting: 1 })
  const done = Promise.withResolvers<void>()
  const first = limit.run('a', 'write', () => done.promise)
  const second = limit.run(
    'a',
    'write',
    async () => assert.fail('begun for nobody'),
    () => true,
  )
  await assert.rejects(
    limit.run('a', 'write', async () => {}),
    /1 requests of this account wait already/,
  )
  done.resolve()
  await first
  await assert.rejects(second, ClientGone)
  assert.equal(await limit.run('a', 'write', async () => 1), 1)
})

test('what fails leaves its place', async () => {
  const limit = openWorkLimit({ running: 1, reading: 1, gathered: 1, waiting: 1 })
  for (let i = 0; i < 3; i++)
    await assert.rejects(limit.run('a', 'read', () => Promise.reject(new Error('no'))))
  assert.equal(await limit.run('a', 'read', async () => 1), 1)
})

test('no more than so many are under way at once, in the order in which they came, whatever becomes of each', async () => {
  const limit = openWorkLimit({ running: 2, reading: 2, gathered: 1, waiting: 10 })
  let underway = 0
  let most = 0
  const begun: number[] = []
  const ended = await Promise.allSettled(
    [1, 2, 3, 4, 5, 6].map((number) =>
      limit.run('a form', 'write', async () => {
        begun.push(number)
        underway += 1
        most = Math.max(most, underway)
        await new Promise(setImmediate)
        underway -= 1
        if (number % 2 === 0) throw new Error(`${number} fails`)
        return number
      }),
    ),
  )
  assert.deepEqual(begun, [1, 2, 3, 4, 5, 6])
  assert.equal(most, 2)
  assert.deepEqual(
    ended.map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason))),
    [1, 'Error: 2 fails', 3, 'Error: 4 fails', 5, 'Error: 6 fails'],
  )
})

test('who comes after too many is refused in the words that were given, and there is room again when they are through', async () => {
  const limit = openWorkLimit(
    { running: 1, reading: 1, gathered: 1, waiting: 1 },
    () => new Error('too many people'),
  )
  const run = <Result>(work: () => Promise<Result>) => limit.run('a form', 'write', work)
  const { promise: isThrough, resolve: goOn } = Promise.withResolvers<void>()
  const first = run(() => isThrough)
  const second = run(async () => 'second')
  await assert.rejects(
    run(async () => 'third'),
    /too many people/,
  )
  goOn()
  await first
  assert.equal(await second, 'second')
  assert.equal(await run(async () => 'fourth'), 'fourth')
})

test('25 reads that the database does not finish hold up nobody else, and are ended', async () => {
  const gateway = await testGateway()
  const slow = await testMerchant(gateway.db)
  const other = await testMerchant(gateway.db)
  const app = await testApp(gateway, { readLimitMs: 1_000 })
  await gateway.db.transaction(async (tx) => {
    await tx.query('lock table payments in access exclusive mode')
    const asked = Array.from({ length: 25 }, () => call(app, slow.key, 'GET', '/payments'))
    const first = await asked[0]
    assert.deepEqual([first?.status, first?.error.reason], [503, 'temporarily_unavailable'])
    assert.equal((await call(app, other.key, 'GET', '/webhooks')).status, 200)
    await tx.query('select 1')
    // The others are served as soon as they can be.
    void Promise.allSettled(asked)
  })
  assert.equal((await call(app, slow.key, 'GET', '/payments')).status, 200)
})
