import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { emptyChain, memoryChain, send, wallet } from '../../../test/simulated-chains.ts'
import { mine, reorganise, replace } from './ledger.ts'
import { createSimulatedChain } from './simulated-chain.ts'
import { BLOCKS_KEPT } from './store.sql.ts'

const db = await testDatabase()

test('one seed makes one chain in memory', async () => {
  const run = (seed: string) => memoryChain('sim-bitcoin', seed).change((store) => mine(store, 3))
  assert.deepEqual(await run('a'), await run('a'))
  assert.notDeepEqual(await run('a'), await run('b'))
})

test('block 0 is the same in memory and in every database', async () => {
  for (const chain of ['sim-bitcoin', 'sim-litecoin', 'sim-ethereum'] as const) {
    assert.equal(
      await memoryChain(chain).port.identity(),
      await createSimulatedChain({ db, chain }).identity(),
    )
  }
})

test('two that mine at once make one chain', async () => {
  const chain = await emptyChain(db, 'sim-litecoin')
  const before = await chain.port.tip()
  await Promise.all(Array.from({ length: 8 }, () => chain.change((store) => mine(store, 2))))
  assert.equal((await chain.port.tip()).height, before.height + 16)
  let { hash } = await chain.port.tip()
  while (hash !== before.hash) hash = (await chain.port.readBlock(hash)).parentHash
})

test('two that replace the same payment at once: one does', async () => {
  const chain = await emptyChain(db, 'sim-bitcoin')
  const txid = await send(chain, wallet('sim-bitcoin', 1).address, 'BTC', 1_000n)
  const outcomes = await Promise.all([1, 2, 3].map(() => chain.change((store) => replace(store, txid))))
  assert.equal(outcomes.filter((outcome) => outcome !== null).length, 1)
})

test('empty blocks far below the tip are pruned; those with transactions, block 0 and the tip stay', async () => {
  const chain = await emptyChain(db, 'sim-bitcoin')
  await chain.change((store) => mine(store, 9))
  const txid = await send(chain, wallet('sim-bitcoin', 1).address, 'BTC', 1_000n)
  const holding = await chain.change((store) => mine(store))
  await chain.change((store) => mine(store, BLOCKS_KEPT))
  await chain.change((store) => mine(store, 5))
  const { rows } = await db.query<{ height: bigint }>(
    "select height from sim_blocks where chain = 'sim-bitcoin' order by height",
  )
  assert.deepEqual(
    rows.slice(0, 3).map((row) => row.height),
    [0n, 10n, 16n],
  )
  assert.equal(rows.length, BLOCKS_KEPT + 2)
  assert.deepEqual(await chain.port.findTransaction(txid), { block: holding })
})

test('a reader sees a block and its transactions, or neither', async () => {
  const chain = await emptyChain(db, 'sim-bitcoin')
  const { reads } = chain.storage
  await send(chain, wallet('sim-bitcoin', 1).address, 'BTC', 1_000n)
  await chain.change((store) => mine(store))
  let writing = true
  let seen = 0
  const writer = (async () => {
    for (let round = 0; round < 20; round++) {
      await chain.change((store) => reorganise(store, 1))
      await chain.change((store) => mine(store))
    }
  })().finally(() => {
    writing = false
  })
  while (writing) {
    const tip = await reads.tip()
    const block = await reads.block(tip.hash)
    // Empty blocks are those of the branch, which has even heights.
    if (block) assert.equal(block.transactions.length, block.height % 2 === 1 ? 1 : 0)
    if (block) seen += 1
  }
  await writer
  assert.ok(seen > 0, 'blocks were read while they changed')
})
