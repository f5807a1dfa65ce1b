/** Slow nodes and many addresses: who leads a chain goes on leading it, and nothing blinds the watcher. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway } from '../../test/gateway.ts'
import { startNode } from '../../test/litecoind.ts'
import { startNodeProxy } from '../../test/node-proxy.ts'
import { until } from '../../test/wait-for.ts'
import { createBitcoinChain } from '../chains/bitcoin/bitcoin-chain.ts'
import type { ChainPort } from '../chains/chain.ts'
import { fence, findChainProgress } from '../chains/chain-progress.sql.ts'
import { mine } from '../chains/simulated/ledger.ts'
import { createMemoryStorage } from '../chains/simulated/memory.ts'
import { simulatedPort } from '../chains/simulated/simulated-chain.ts'
import type { ChainName } from '../core/assets.ts'
import { SILENT } from '../core/log.ts'
import type { Database } from '../db/database.ts'
import { startWatcher } from './watch.ts'

const IDLE_MS = 50
const gateway = await testGateway()

const epochOf = async (db: Database, chain: ChainName) =>
  (await db.query<{ epoch: bigint }>('select lease_epoch as epoch from chains where chain = $1', [chain]))
    .rows[0]?.epoch

test('two watchers follow a node that takes 8 s for a block as one does: the leader keeps the lead', async (t) => {
  const node = await startNode()
  const proxy = await startNodeProxy(node.rpcUrl)
  const open = () =>
    createBitcoinChain({ chain: 'litecoin', rpcUrl: proxy.rpcUrl, network: 'regtest', log: SILENT })
  const watchers = [open(), open()].map((port) => startWatcher(gateway, port, { idleMs: IDLE_MS }))
  t.after(() => Promise.all(watchers.map((watcher) => watcher.stop())))
  const seen = async () => (await findChainProgress(gateway.db, 'litecoin'))?.tipHeight
  const first = await node.tip()
  await until('the watchers met the chain', async () => (await seen()) === first.height)

  proxy.delayAnswersTo('getblock', 8_000)
  await node.mine(3)
  await until('three slow blocks are followed', async () => (await seen()) === first.height + 3)
  assert.equal(await epochOf(gateway.db, 'litecoin'), 1n)
})

test('a leader whose node fails in the middle of a poll gives the lead to one whose node answers, and a lone one goes on at its next try', async (t) => {
  const { db } = gateway
  const storage = createMemoryStorage({ chain: 'sim-bitcoin', seed: 'lead', now: () => Date.now() })
  await storage.change((store) => mine(store, 3))
  const sound: ChainPort = { ...simulatedPort(storage), chain: 'bitcoin' }
  let failsFor = 0
  const failing: ChainPort = {
    ...sound,
    async lookAtMempool(epoch) {
      if (failsFor === 0) return sound.lookAtMempool(epoch)
      failsFor -= 1
      throw new Error('the list of the mempool took too long')
    },
  }
  const isPolledAnew = async () => {
    const from = Date.now()
    await until(
      'it is polled',
      async () => ((await findChainProgress(db, 'bitcoin'))?.polledAt?.getTime() ?? 0) > from,
      3_000,
    )
  }
  const start = (port: ChainPort) => {
    const watcher = startWatcher(gateway, port, { idleMs: IDLE_MS })
    t.after(() => watcher.stop())
  }
  start(failing)
  await isPolledAnew()
  failsFor = 1
  await isPolledAnew()
  assert.equal(failsFor, 0)
  const epoch = await epochOf(db, 'bitcoin')
  assert(epoch)

  start(sound)
  failsFor = Number.POSITIVE_INFINITY
  await isPolledAnew()
  await assert.rejects(
    db.transaction((tx) => fence(tx, { chain: 'bitcoin', epoch, since: epoch })),
    { name: 'StaleLease' },
    'what the first leader has not written yet is refused',
  )
})

test('a node that names a block and does not have it yet is not asked again in one breath', async () => {
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'late', now: () => Date.now() })
  await storage.change((store) => mine(store, 1))
  const simulated = simulatedPort(storage)
  const asked: number[] = []
  const port: ChainPort = {
    ...simulated,
    chain: 'litecoin',
    async tip() {
      asked.push(performance.now())
      const { height, hash } = await simulated.tip()
      return asked.length === 1 ? { height, hash } : { height: height + 1, hash: 'of another node' }
    },
  }
  const watcher = startWatcher(await testGateway(), port, { idleMs: IDLE_MS })
  await until('it was asked for some time', async () => asked.length > 6).finally(() => watcher.stop())
  assert.ok((asked[6] ?? 0) - (asked[1] ?? 0) >= 5 * (IDLE_MS - 1))
})

test('comparing what addresses hold goes on beside the watcher, page by page, and where it was left off', async (t) => {
  const storage = createMemoryStorage({ chain: 'sim-ethereum', seed: 'pages', now: () => Date.now() })
  await storage.change((store) => mine(store, 3))
  const { id } = await testAccount(gateway)
  await gateway.db.query(
    `insert into addresses (chain, lookup, address, branch, position, series, mac, account_id, payment_id, issued_at)
     select 'ethereum', decode(lpad(to_hex(n), 40, '0'), 'hex'), '0x' || lpad(to_hex(n), 40, '0'), 0, n, 'old', sha256('mac'),
       $1, gen_random_uuid(), now() - interval '40 days'
     from generate_series(1, 7000) as n`,
    [id],
  )
  const asked: number[] = []
  let answer = Promise.withResolvers<void>()
  const port: ChainPort = {
    ...simulatedPort(storage),
    chain: 'ethereum',
    async etherAt(_hash, addresses) {
      asked.push(addresses.length)
      await answer.promise
      return addresses.map(() => 0n)
    },
  }
  const watcher = startWatcher(gateway, port, { idleMs: IDLE_MS })
  await until('the first page is asked for', async () => asked.length === 1)
  const { height } = await simulatedPort(storage).tip()
  await storage.change((store) => mine(store, 2))
  await until('blocks are followed while the node thinks about the page', async () => {
    const progress = await findChainProgress(gateway.db, 'ethereum')
    return progress?.tipHeight === height + 2 && progress.polledAt !== null
  })

  answer.resolve()
  answer = Promise.withResolvers<void>()
  await until('the second page is asked for', async () => asked.length === 2)
  const stopped = watcher.stop()
  answer.reject(new Error('the process ends'))
  await stopped
  answer = Promise.withResolvers<void>()
  answer.resolve()
  const next = startWatcher(gateway, port, { idleMs: IDLE_MS })
  t.after(() => next.stop())
  await until('every address was compared', async () => {
    const { rows } = await gateway.db.query<{ done: boolean }>(
      "select ether_checked_at is not null as done from chains where chain = 'ethereum'",
    )
    return rows[0]?.done === true
  })
  assert.deepEqual(asked, [3_000, 3_000, 3_000, 1_000])
})
