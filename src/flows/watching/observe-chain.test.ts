/** Nodes that are late: nothing is un-confirmed because one shows a block that we passed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { txidOf } from '../../../test/txid.ts'
import { fillTestWallets } from '../../../test/wallet.ts'
import type { BlockRef, ChainPort } from '../../chains/chain.ts'
import { findChainProgress, releaseLease, StaleLease, takeLease } from '../../chains/chain-progress.sql.ts'
import { mine, mint, reorganise } from '../../chains/simulated/ledger.ts'
import { createMemoryStorage } from '../../chains/simulated/memory.ts'
import { lookupOf } from '../../chains/simulated/network.ts'
import { simulatedPort } from '../../chains/simulated/simulated-chain.ts'
import { AT_ONCE, type SpareTime } from '../../core/spare-time.ts'
import { findFunds } from '../recovery/find-funds.ts'
import { applyBlock, meetChain, observeChain } from './observe-chain.ts'

test('a node that is behind takes no block away, however long, nor does it when its watcher gets the lead', async () => {
  const gateway = await testGateway()
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'late', now: () => 0 })
  await storage.change((store) => mine(store, 3))
  const simulated = simulatedPort(storage)
  let shown: BlockRef | null = null
  const port: ChainPort = {
    ...simulated,
    chain: 'litecoin',
    tip: async () => shown ?? simulated.tip(),
    blockHash: async (height) => (shown && height > shown.height ? null : simulated.blockHash(height)),
    lookAtMempool: async () => null,
  }
  await meetChain(gateway, port)
  let lease = await takeLease(gateway.db, 'litecoin', 'late')
  assert.ok(lease)
  const passed = await simulated.tip()
  await storage.change((store) => mine(store, 2))
  const newest = await simulated.tip()
  await observeChain(gateway, port, lease)

  for (let time = 0; time < 2; time++) {
    shown = passed
    for (let poll = 0; poll < 4; poll++) {
      await assert.rejects(observeChain(gateway, port, lease), /waiting for it/)
      await setTimeout(1_000)
    }
    await gateway.db.query("update chains set lease_until = now() - interval '1 second'")
    lease = await takeLease(gateway.db, 'litecoin', 'another')
    assert.ok(lease)
    await assert.rejects(observeChain(gateway, port, lease), /waiting for it/)
    assert.equal((await findChainProgress(gateway.db, 'litecoin'))?.tipHash, newest.hash)
    shown = null
    await observeChain(gateway, port, lease)
    assert.equal((await findChainProgress(gateway.db, 'litecoin'))?.tipHash, newest.hash)
  }

  // Other blocks in the place of ours are another matter, once they are no fewer.
  await storage.change((store) => reorganise(store, 2))
  const other = await simulated.tip()
  const below = async (count: number) => {
    const height = other.height - count
    return { height, hash: (await simulated.blockHash(height)) ?? '' }
  }
  shown = await below(2)
  await assert.rejects(observeChain(gateway, port, lease), /waiting for it/)
  shown = await below(1)
  await observeChain(gateway, port, lease)
  assert.equal((await findChainProgress(gateway.db, 'litecoin'))?.tipHash, shown.hash)
})

test('a fork below the block at which a live chain was first seen is found', async () => {
  const gateway = await testGateway()
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'early', now: () => 0 })
  await storage.change((store) => mine(store, 5))
  const port: ChainPort = { ...simulatedPort(storage), chain: 'litecoin', lookAtMempool: async () => null }
  await meetChain(gateway, port)
  const lease = await takeLease(gateway.db, 'litecoin', 'early')
  assert.ok(lease)
  assert.equal((await findChainProgress(gateway.db, 'litecoin'))?.tipHeight, 5)

  await storage.change((store) => reorganise(store, 3))
  while ((await observeChain(gateway, port, lease)).blocks > 0);
  const progress = await findChainProgress(gateway.db, 'litecoin')
  assert.deepEqual([progress?.tipHash, progress?.haltedReason], [(await port.tip()).hash, null])
})

test('a search of the chain that finds coins while a block is met ends the lease, and the next leader sees what the block spends of them', async () => {
  const gateway = await testGateway()
  await fillTestWallets(gateway.db, { chains: ['litecoin'], freshPerChain: 1 })
  const { rows } = await gateway.db.query<{ lookup: Buffer }>(
    "select lookup from addresses where chain = 'litecoin' limit 1",
  )
  const lookup = rows[0]?.lookup
  assert.ok(lookup)
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'search', now: () => 0 })
  const simulated = simulatedPort(storage)
  const start = await simulated.tip()
  const found = { txid: 'ab'.repeat(32), index: 1, height: start.height, isCoinbase: true }
  const port: ChainPort = {
    ...simulated,
    chain: 'litecoin',
    lookAtMempool: async () => null,
    findFunds: async () => ({ at: start, funds: [{ lookup, asset: 'LTC', atoms: 5n, utxo: found }] }),
    readBlock: async (hash) => ({
      ...(await simulated.readBlock(hash)),
      transactions: [{ key: 'spending', hash: 'spending', outputs: [], inputs: [found] }],
    }),
  }
  await meetChain(gateway, port)
  const lease = await takeLease(gateway.db, 'litecoin', 'first')
  assert.ok(lease)
  await storage.change((store) => mine(store, 1))

  let searches = 0
  const spareTime: SpareTime = {
    ...AT_ONCE,
    async spend(count, partsAtOnce, work) {
      const parts = await AT_ONCE.spend(count, partsAtOnce, work)
      // The block's inputs were looked for, and nothing of them is ours yet.
      if (count > 0) assert.deepEqual((await findFunds(gateway, [port], 2)).recorded, { litecoin: 1 })
      if (count > 0) searches += 1
      return parts
    },
  }
  await assert.rejects(observeChain(gateway, port, lease, { spareTime }), StaleLease)
  assert.equal(searches, 1)
  const next = await takeLease(gateway.db, 'litecoin', 'first')
  assert.ok(next, 'whoever comes next takes the lead at once')
  await observeChain(gateway, port, next)
  const { rows: utxos } = await gateway.db.query(
    'select spent_by as "spentBy", spent_height::int as height, is_coinbase as "isCoinbase" from utxos where txid = $1',
    [found.txid],
  )
  assert.deepEqual(utxos, [{ spentBy: 'spending', height: start.height + 1, isCoinbase: true }])
})

test('the longer ago a chain was seen the less of a poll rests, and nothing long before its payments are refused', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'rests', now: () => 0 })
  const port = simulatedPort(storage)
  await meetChain(gateway, port)
  const lease = await takeLease(db, 'sim-litecoin', 'rests')
  assert.ok(lease)
  const restsWhenSeen = async (secondsAgo: number | null) => {
    await db.query('update chains set polled_at = now() - make_interval(secs => $1) where chain = $2', [
      secondsAgo,
      'sim-litecoin',
    ])
    const budgets: number[] = []
    const spareTime: SpareTime = {
      ...AT_ONCE,
      atMost(ms) {
        budgets.push(ms)
        return AT_ONCE
      },
    }
    await observeChain(gateway, port, lease, { spareTime })
    assert.equal(budgets.length, 1)
    return budgets[0] ?? Number.NaN
  }
  const justNow = await restsWhenSeen(1)
  assert.ok(justNow > 4_000 && justNow <= 6_500, `${justNow} ms`)
  assert.ok((await restsWhenSeen(7.5)) <= 0)
  assert.ok((await restsWhenSeen(60)) <= 0)
  assert.equal(await restsWhenSeen(null), 0, 'it was never seen')
})

test('a coin that is made and spent in one block is known as spent', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const { rows } = await db.query<{ lookup: Buffer }>(
    "select lookup from addresses where chain = 'sim-litecoin' and payment_id is null limit 1",
  )
  const lookup = rows[0]?.lookup
  assert.ok(lookup)
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'both', now: () => 0 })
  const simulated = simulatedPort(storage)
  await meetChain(gateway, simulated)
  const lease = await takeLease(db, 'sim-litecoin', 'both')
  assert.ok(lease)
  await storage.change((store) => mine(store, 1))
  const block = await simulated.readBlock((await simulated.tip()).hash)
  const ours = { lookup, index: 1, asset: 'LTC', atoms: 5n } as const
  const [made, spent] = [txidOf('made'), txidOf('spent')]
  const transactions = [
    { key: made, hash: made, outputs: [ours], inputs: [{ txid: txidOf('theirs'), index: 0 }] },
    { key: spent, hash: spent, outputs: [], inputs: [{ txid: made, index: 1 }] },
  ]
  await applyBlock(gateway, lease, { ...block, transactions })
  const { rows: utxos } = await db.query(
    'select txid, spent_by as "spentBy", spent_height::int as height from utxos',
  )
  assert.deepEqual(utxos, [{ txid: made, spentBy: spent, height: block.height }])
})

test('a swap that a reorganisation puts elsewhere, where it pays another sum under its old name, is another deposit', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const payment = await testPayment(gateway, account, { asset: 'USDC' })
  const lookup = lookupOf('sim-ethereum', payment.address)
  assert.ok(lookup)
  const storage = createMemoryStorage({ chain: 'sim-ethereum', seed: 'swap', now: () => 0 })
  const simulated = simulatedPort(storage)
  const start = await simulated.tip()
  const { dueAtoms } = payment
  let atoms = dueAtoms + 5n
  const port: ChainPort = {
    ...simulated,
    readBlock: async (hash, options) => {
      const block = await simulated.readBlock(hash, options)
      if (block.height !== start.height + 1) return block
      const outputs = [{ lookup, index: 3, asset: 'USDC', atoms } as const]
      const swap = { key: '0xswap', hash: '0xswap', outputs, inputs: [{ txid: '0xbuyer', index: 7 }] }
      return { ...block, timeMs: Date.now(), transactions: [swap] }
    },
  }
  await meetChain(gateway, port)
  const lease = await takeLease(db, 'sim-ethereum', 'swap')
  assert.ok(lease)
  const deposits = async () =>
    (
      await db.query<{ atoms: bigint; status: string; late: boolean }>(
        `select amount_atoms as atoms, status, late from deposits where tx_key = '0xswap' order by amount_atoms desc`,
      )
    ).rows
  const follow = async () => {
    while ((await observeChain(gateway, port, lease)).blocks > 0);
  }
  await storage.change((store) => mine(store, 1))
  await follow()
  assert.deepEqual(await deposits(), [{ atoms: dueAtoms + 5n, status: 'seen', late: false }])

  // Its payment's time has passed meanwhile; what its buyer did, he did in time.
  await db.query('update payments set expires_at = clock_timestamp() where id = $1', [payment.id])
  atoms = dueAtoms - 5n
  await storage.change((store) => reorganise(store, 1))
  await follow()
  const [first, second] = await deposits()
  assert.deepEqual(first, { atoms: dueAtoms + 5n, status: 'replaced', late: false })
  assert.deepEqual(second, { atoms: dueAtoms - 5n, status: 'seen', late: false })

  // And back.
  atoms = dueAtoms + 5n
  await storage.change((store) => reorganise(store, 2))
  await follow()
  assert.deepEqual(
    (await deposits()).map(({ status }) => status),
    ['seen', 'replaced'],
  )
})

test('of two deposits that waited at one place the newest is shown again, and the poll goes on', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const payment = await testPayment(gateway, account)
  const transaction = {
    key: txidOf('waiting'),
    hash: txidOf('waiting'),
    inputs: [{ txid: txidOf('theirs'), index: 0 }],
  }
  const lookup = lookupOf('sim-litecoin', payment.address)
  assert.ok(lookup)
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'place', now: () => 0 })
  const outputs = [{ lookup, index: 0, asset: 'LTC', atoms: payment.dueAtoms } as const]
  let isThere = true
  const port: ChainPort = {
    ...simulatedPort(storage),
    lookAtMempool: async () => ({
      added: (async function* () {
        if (isThere) yield [{ ...transaction, outputs }]
      })(),
      has: (txid) => isThere && txid === transaction.key,
    }),
  }
  await meetChain(gateway, port)
  const lease = await takeLease(db, 'sim-litecoin', 'place')
  assert.ok(lease)
  const poll = () => observeChain(gateway, port, lease)
  await poll()
  // Somebody changes the row, so that the next sighting is another.
  await db.query(`update deposits set status = 'dropped', amount_atoms = amount_atoms + 1`)
  await poll()
  isThere = false
  await poll()
  await db.query(`update deposits set status = 'dropped'`)
  isThere = true
  await poll()
  await poll()
  const { rows } = await db.query<{ status: string; isDue: boolean }>(
    'select status, amount_atoms = $1 as "isDue" from deposits order by id',
    [payment.dueAtoms],
  )
  assert.deepEqual(rows, [
    { status: 'dropped', isDue: false },
    { status: 'seen', isDue: true },
  ])
})

test('a deposit that the mempool of another leader replaced is back when its own leads again', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const payment = await testPayment(gateway, await testAccount(gateway))
  const lookup = lookupOf('sim-litecoin', payment.address)
  assert.ok(lookup)
  const storage = createMemoryStorage({ chain: 'sim-litecoin', seed: 'two nodes', now: () => Date.now() })
  await storage.change((store) => mine(store, 1))
  const first = simulatedPort(storage)
  await meetChain(gateway, first)
  const txid = await storage.change((store) => mint(store, { lookup, asset: 'LTC', atoms: payment.dueAtoms }))
  const [deposit] = (
    await Array.fromAsync((await simulatedPort(storage).lookAtMempool(1n))?.added ?? [])
  ).flat()
  assert.equal(deposit?.key, txid)
  const key = txidOf('conflict')
  const second: ChainPort = {
    ...first,
    lookAtMempool: async () => ({
      added: (async function* () {
        yield [{ key, hash: key, inputs: deposit.inputs, outputs: [] }]
      })(),
      has: (other) => other === key,
    }),
  }
  const statusAfter = async (port: ChainPort) => {
    const lease = await takeLease(db, 'sim-litecoin', 'watcher')
    assert.ok(lease)
    await observeChain(gateway, port, lease)
    await releaseLease(db, lease)
    return (await db.query<{ status: string }>('select status from deposits')).rows.map(
      ({ status }) => status,
    )
  }
  for (const [port, status] of [
    [first, 'seen'],
    [first, 'seen'],
    [second, 'replaced'],
    [first, 'seen'],
  ] as const)
    assert.deepEqual(await statusAfter(port), [status])
})
