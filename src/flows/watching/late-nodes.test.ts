/** A node that is late, by however much and on whichever blocks, takes nothing back and halts nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import type { ChainPort } from '../../chains/chain.ts'
import { findChainProgress, takeLease } from '../../chains/chain-progress.sql.ts'
import { mine } from '../../chains/simulated/ledger.ts'
import { createMemoryStorage } from '../../chains/simulated/memory.ts'
import { simulatedPort } from '../../chains/simulated/simulated-chain.ts'
import { meetChain, observeChain } from './observe-chain.ts'

/** The block of first contact, and how many were followed from there. */
const INSTALLATIONS = { old: [3, 253], new: [260, 5] } as const
const LAGS = [1, 2, 99, 100, 101, 105, 199, 200, 201, 250]

async function followed(chain: 'litecoin' | 'ethereum', installation: keyof typeof INSTALLATIONS) {
  const gateway = await testGateway()
  const { db } = gateway
  const storage = createMemoryStorage({ chain: `sim-${chain}`, seed: 'late', now: () => 0 })
  const simulated = simulatedPort(storage)
  /** What the node shows: up to a height, and above another one blocks that are not ours. */
  const node = { height: Number.POSITIVE_INFINITY, ours: Number.POSITIVE_INFINITY }
  const shown = (height: number, hash: string) => (height > node.ours ? `other:${hash}` : hash)
  const blockHash = async (height: number) => {
    const hash = height > node.height ? null : await simulated.blockHash(height)
    return hash && shown(height, hash)
  }
  const port: ChainPort = {
    ...simulated,
    chain,
    blockHash,
    async tip() {
      const height = Math.min(node.height, (await simulated.tip()).height)
      return { height, hash: (await blockHash(height)) ?? '' }
    },
    async readBlock(hash) {
      const block = await simulated.readBlock(hash.replace('other:', ''))
      return { ...block, hash, parentHash: shown(block.height - 1, block.parentHash) }
    },
    lookAtMempool: async () => null,
  }
  const [first, more] = INSTALLATIONS[installation]
  await storage.change((store) => mine(store, first))
  await meetChain(gateway, port)
  const lease = await takeLease(db, chain, 'late')
  assert.ok(lease)
  await storage.change((store) => mine(store, more))
  const poll = () => observeChain(gateway, port, lease)
  while ((await poll()).blocks > 0);
  const written = async () =>
    (
      await db.query(
        `select tip_height, tip_hash, halted_reason, (select count(*) from alerts) as alerts,
           (select array_agg(height || hash order by height) from chain_blocks b where b.chain = c.chain) as blocks
         from chains c where chain = $1`,
        [chain],
      )
    ).rows
  const tipHeight = first + more
  const waits = async (height: number, ours: number) => {
    const before = await written()
    Object.assign(node, { height, ours })
    await assert.rejects(poll(), /waiting for it/, `${installation}, ${tipHeight - height} behind`)
    Object.assign(node, { height: Number.POSITIVE_INFINITY, ours: Number.POSITIVE_INFINITY })
    assert.deepEqual(await written(), before, `${installation}, ${tipHeight - height} behind`)
    assert.deepEqual(await poll(), { blocks: 0, behind: false })
  }
  return { gateway, node, poll, waits, tipHeight, chain }
}

for (const installation of ['old', 'new'] as const) {
  for (const chain of ['litecoin', 'ethereum'] as const)
    test(`${chain}: a node that shows the beginning of our chain is waited for, ${installation} installation`, async () => {
      const { waits, tipHeight } = await followed(chain, installation)
      for (const lag of LAGS) await waits(tipHeight - lag, Number.POSITIVE_INFINITY)
    })

  test(`litecoin: a node with fewer blocks than ours takes none away, ${installation} installation`, async () => {
    const { waits, tipHeight } = await followed('litecoin', installation)
    for (const lag of LAGS) for (const depth of [1, 10]) await waits(tipHeight - lag, tipHeight - lag - depth)
  })

  test(`ethereum: other blocks below what is known of ours are waited for, ${installation} installation`, async () => {
    const { waits, tipHeight } = await followed('ethereum', installation)
    for (const lag of [2, 50, 99, 150, 250]) await waits(tipHeight - lag, 0)
  })
}

test('ethereum: a head that is lower, on other blocks, is right', async () => {
  const { gateway, node, poll, tipHeight, chain } = await followed('ethereum', 'new')
  Object.assign(node, { height: tipHeight - 2, ours: tipHeight - 5 })
  assert.deepEqual(await poll(), { blocks: 3, behind: false })
  assert.equal((await findChainProgress(gateway.db, chain))?.tipHeight, tipHeight - 2)
})

for (const chain of ['litecoin', 'ethereum'] as const)
  test(`${chain}: a hundred other blocks in the place of ours halt it`, async () => {
    const { gateway, node, poll, tipHeight } = await followed(chain, 'new')
    Object.assign(node, { height: tipHeight, ours: tipHeight - 101 })
    await assert.rejects(poll(), /does not meet ours within 100 blocks/)
    assert.ok((await findChainProgress(gateway.db, chain))?.haltedReason)
    await assert.rejects(poll(), /is halted/)
  })

test('litecoin: a fork exactly a hundred blocks deep is followed', async () => {
  const { gateway, node, poll, tipHeight } = await followed('litecoin', 'new')
  Object.assign(node, { height: tipHeight, ours: tipHeight - 100 })
  while ((await poll()).blocks > 0);
  const progress = await findChainProgress(gateway.db, 'litecoin')
  assert.match(progress?.tipHash ?? '', /^other:/)
  assert.equal(progress?.haltedReason, null)
})
