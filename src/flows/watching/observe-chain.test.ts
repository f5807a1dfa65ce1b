/** Nodes that are late: nothing is un-confirmed because one shows a block that we passed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import type { BlockRef, ChainPort } from '../../chains/chain.ts'
import { findChainProgress, takeLease } from '../../chains/chain-progress.sql.ts'
import { mine } from '../../chains/simulated/ledger.ts'
import { createMemoryStorage } from '../../chains/simulated/memory.ts'
import { simulatedPort } from '../../chains/simulated/simulated-chain.ts'
import { meetChain, observeChain } from './observe-chain.ts'

test('a node that is late for a moment, and late again an hour after, takes no block away', async () => {
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
  const lease = await takeLease(gateway.db, 'litecoin', 'late')
  assert.ok(lease)
  const passed = await simulated.tip()
  await storage.change((store) => mine(store, 2))
  const newest = await simulated.tip()
  await observeChain(gateway, port, lease)

  for (let time = 0; time < 3; time++) {
    // The time that the node was late before is long ago.
    await gateway.db.query("update chains set shorter_since = shorter_since - interval '1 hour'")
    shown = passed
    await assert.rejects(observeChain(gateway, port, lease), /waiting for it/)
    shown = null
    await observeChain(gateway, port, lease)
    assert.equal((await findChainProgress(gateway.db, 'litecoin'))?.tipHash, newest.hash)
  }
})
