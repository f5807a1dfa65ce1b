import assert from 'node:assert/strict'
import { mock, type TestContext, test } from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import { txidOf } from '../../../test/txid.ts'
import type { ChainPort } from '../../chains/chain.ts'
import { takeLease } from '../../chains/chain-progress.sql.ts'
import { mine } from '../../chains/simulated/ledger.ts'
import { createMemoryStorage } from '../../chains/simulated/memory.ts'
import { simulatedPort } from '../../chains/simulated/simulated-chain.ts'
import { whileRenewing } from './keep-lease.ts'
import { meetChain, observeChain } from './observe-chain.ts'

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

/** A gateway whose database counts renewals and answers them at once. */
async function counting(t: TestContext) {
  const gateway = await testGateway()
  t.after(() => mock.timers.reset())
  const renewals = { count: 0 }
  const query: typeof gateway.db.query = async (text, ...more) => {
    if (!text.startsWith('update chains set lease_until = clock_timestamp()'))
      return gateway.db.query(text, ...more)
    renewals.count += 1
    return { rows: [], rowCount: 1 }
  }
  return { gateway: { ...gateway, db: { ...gateway.db, query } }, renewals }
}

test('work that goes on is renewed however long it takes, and work that hangs for two minutes', async (t) => {
  const { gateway, renewals } = await counting(t)
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const pass = async (seconds: number) => {
    const before = renewals.count
    for (let second = 0; second < seconds; second += 2) {
      mock.timers.tick(2_000)
      await new Promise(setImmediate)
    }
    return renewals.count - before
  }
  await whileRenewing(gateway, { chain: 'sim-litecoin', epoch: 1n, since: 1n }, async (progressed) => {
    for (let part = 0; part < 6; part++) {
      assert.ok((await pass(100)) > 0)
      progressed()
    }
    await pass(120)
    assert.equal(await pass(100), 0)
  })
})

test('each block and each batch of strangers in a mempool counts as progress', async (t) => {
  const { gateway, renewals } = await counting(t)
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'full', now: () => 0 })
  const simulated = simulatedPort(storage)
  let passed = 0
  const passMostOfTheLimit = async () => {
    const before = renewals.count
    mock.timers.tick(100_000)
    assert.ok(renewals.count > before, `part ${passed} is renewed`)
    passed += 1
  }
  const port: ChainPort = {
    ...simulated,
    async readBlock(hash, options) {
      await passMostOfTheLimit()
      return simulated.readBlock(hash, options)
    },
    lookAtMempool: async () => ({
      has: () => false,
      added: (async function* () {
        for (let batch = 0; batch < 4; batch++) {
          await passMostOfTheLimit()
          yield [{ key: txidOf(`${batch}`), hash: null, outputs: [], inputs: [] }]
        }
      })(),
    }),
  }
  await meetChain(gateway, simulated)
  const lease = await takeLease(gateway.db, 'sim-litecoin', 'full')
  assert.ok(lease)
  await storage.change((store) => mine(store, 3))
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  await observeChain(gateway, port, lease)
  assert.equal(passed, 7)
})
