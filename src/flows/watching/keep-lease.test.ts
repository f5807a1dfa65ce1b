import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import { whileRenewing } from './keep-lease.ts'

test('a renewal that waits is not joined by another one until it may be lost, and the work’s end waits for it', async (t) => {
  const gateway = await testGateway({ chains: [] })
  t.after(() => mock.timers.reset())
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>()
  let asked = 0
  const slow = {
    ...gateway,
    db: {
      ...gateway.db,
      async query() {
        asked += 1
        await isAnswered
        return { rows: [], rowCount: 0 }
      },
    },
  }
  const work = Promise.withResolvers<string>()
  const kept = whileRenewing(slow, { chain: 'sim-litecoin', epoch: 1n, since: 1n }, () => work.promise)
  mock.timers.tick(6_000)
  assert.equal(asked, 1)
  mock.timers.tick(6_000)
  assert.equal(asked, 2, 'one that takes so long may be lost')
  mock.timers.tick(30_000)
  assert.equal(asked, 2, 'nor is the second joined by a third')
  answer()
  await new Promise(setImmediate)
  mock.timers.tick(2_000)
  assert.equal(asked, 3, 'once it is over, the next one comes in its time')
  work.resolve('done')
  assert.equal(await kept, 'done')
  mock.timers.tick(30_000)
  assert.equal(asked, 3)
})

test('work ends when its renewals have ended, those too that a later one joined', async (t) => {
  const gateway = await testGateway({ chains: [] })
  t.after(() => mock.timers.reset())
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const answers: (() => void)[] = []
  const slow = {
    ...gateway,
    db: {
      ...gateway.db,
      async query() {
        const { promise: isAnswered, resolve } = Promise.withResolvers<void>()
        answers.push(resolve)
        await isAnswered
        return { rows: [], rowCount: 0 }
      },
    },
  }
  let hasEnded = false
  const kept = whileRenewing(slow, { chain: 'sim-litecoin', epoch: 1n, since: 1n }, async () => {
    mock.timers.tick(12_000)
  }).then(() => {
    hasEnded = true
  })
  assert.equal(answers.length, 2)
  for (const answer of answers.toReversed()) {
    await new Promise(setImmediate)
    assert.equal(hasEnded, false)
    answer()
  }
  await kept
})
