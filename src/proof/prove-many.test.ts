/** The proof of the books while blocks come and many addresses hold something. Figures at full size: `bench/prove-ethereum.ts`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { fundAddresses, STAND_IN_HOT_WALLET } from '../../test/funded-addresses.ts'
import { SILENT } from '../core/log.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { Database } from '../db/database.ts'
import { type ProverMemory, proveBlock, type Verdict } from './prove-block.ts'
import { reconcile, unfreeze } from './reconcile.ts'

const ADDRESSES = 5_000

async function frozenReason(db: Database): Promise<string> {
  const { rows } = await db.query<{ reason: string }>('select reason from freezes')
  return rows.map(({ reason }) => reason).join()
}

test('the whole proof comes to its end though a block comes whenever the node is asked', async () => {
  const db = await testDatabase({ connectionsMax: 10 })
  let blocks = 0
  const chain = await fundAddresses(db, {
    addresses: ADDRESSES,
    underWay: 20,
    latencyMs: 0,
    async onCall() {
      blocks += 1
      await chain.addBlock()
    },
  })
  const proof = await reconcile(db, [chain.port])
  assert.ok(blocks > 20, `${blocks} blocks came meanwhile`)
  assert.deepEqual([proof.compared, proof.unproven], [['ethereum'], []])
  assert.deepEqual(proof.differences, [])
  const robbed = await chain.addressAt(0.7)
  chain.steal(robbed, 3n)
  assert.deepEqual(
    (await reconcile(db, [chain.port])).differences.map(({ subject, expectedAtoms, foundAtoms }) => [
      subject,
      expectedAtoms,
      foundAtoms,
    ]),
    [[`address ${robbed}`, 1_000n, 997n]],
  )
  await db.query("insert into freezes (chain, asset, reason) values ('ethereum', 'ETH', 'test')")
  const { lifted } = await unfreeze(db, await reconcile(db, [chain.port]))
  assert.deepEqual(lifted, [], 'what differs stays frozen')
})

for (const [what, part] of [
  ['the first', 0],
  ['any', 0.4],
  ['the last', 1],
] as const)
  test(`a theft at ${what} of many old addresses is found within two blocks`, async () => {
    const db = await testDatabase({ connectionsMax: 10 })
    const chain = await fundAddresses(db, { addresses: ADDRESSES, underWay: 100, latencyMs: 0 })
    const gateway = { db, log: SILENT }
    assert.equal(await proveBlock(gateway, chain.port), 'proven')
    const robbed = await chain.addressAt(part)
    chain.steal(robbed, 1n)
    const verdicts: Verdict[] = []
    for (let block = 0; block < 2 && verdicts.at(-1) !== 'unlike'; block++) {
      await chain.addBlock()
      verdicts.push(await proveBlock(gateway, chain.port))
    }
    assert.equal(verdicts.at(-1), 'unlike')
    assert.match(
      await frozenReason(db),
      new RegExp(`address ${robbed} .*expected 0.000000000000001 ETH, found 0.000000000000000999 ETH`),
    )
  })

test('the walk over old addresses gives way to the next block, and goes on behind where it was', async () => {
  const db = await testDatabase({ connectionsMax: 10 })
  let isNext = false
  const chain = await fundAddresses(db, {
    addresses: 12_000,
    underWay: 1,
    latencyMs: 0,
    async onCall() {
      if (isNext) return
      isNext = true
      await chain.addBlock()
    },
  })
  const walkedTo = async () => {
    const { rows } = await db.query<{ slice_after: string }>('select slice_after from proven_blocks')
    return rows[0]?.slice_after
  }
  assert.equal(await proveBlock({ db, log: SILENT }, chain.port), 'proven')
  const first = await walkedTo()
  assert.ok(first, 'it is not through')
  assert.equal(await proveBlock({ db, log: SILENT }, chain.port), 'proven')
  assert.equal(await walkedTo(), '', 'through, with nothing new in its way')
})

test('a robbed hot wallet is found in its block, with a hundred transactions under way', async () => {
  const db = await testDatabase({ connectionsMax: 10 })
  const chain = await fundAddresses(db, { addresses: ADDRESSES, underWay: 100, latencyMs: 2 })
  const gateway = { db, log: SILENT }
  assert.equal(await proveBlock(gateway, chain.port), 'proven')
  chain.steal(STAND_IN_HOT_WALLET, 1n)
  await chain.addBlock()
  assert.equal(await proveBlock(gateway, chain.port), 'unlike')
  assert.match(await frozenReason(db), /the hot wallet/)
})

test('no transaction is open while a node is asked', async () => {
  // One connection in all: what held it open would have the node wait for it.
  const db = await testDatabase({ connectionsMax: 1 })
  let asked = 0
  const chain = await fundAddresses(db, {
    addresses: ADDRESSES,
    underWay: 40,
    latencyMs: 0,
    async onCall() {
      asked += 1
      await db.query('select')
    },
  })
  assert.equal(await proveBlock({ db, log: SILENT }, chain.port), 'proven')
  await reconcile(db, [chain.port])
  assert.ok(asked > 50)
})

test('books that could not be proven for long are an alert, with the reason, and never silence', async () => {
  const db = await testDatabase({ connectionsMax: 10 })
  const chain = await fundAddresses(db, { addresses: 10, underWay: 1, latencyMs: 0 })
  const said: string[] = []
  const log = { ...SILENT, warn: (_fields: object, message: string) => said.push(message) }
  const memory: ProverMemory = {}
  assert.equal(await proveBlock({ db, log }, chain.port, memory), 'proven')
  await chain.addBlock()
  const elsewhere = { ...chain.port, blockHash: async () => 'another block' }
  const alerts = async () =>
    (await db.query<{ message: string }>("select message from alerts where kind = 'proof_overdue'")).rows
  for (let turn = 0; turn < 2; turn++)
    assert.equal(await proveBlock({ db, log }, elsewhere, memory), 'unproven')
  assert.deepEqual([said.length, await alerts()], [1, []], 'said once, and not yet an alert')
  await db.query(`update proven_blocks set proven_at = now() - interval '6 minutes'`)
  assert.equal(await proveBlock({ db, log }, elsewhere, memory), 'unproven')
  assert.deepEqual(await alerts(), [], 'nobody tried for so long, as after a pause of Beck')
  memory.unproven = { reason: '', sinceMs: performance.now() - 2 * MINUTE_MS }
  assert.equal(await proveBlock({ db, log }, elsewhere, memory), 'unproven')
  const [alert] = await alerts()
  assert.match(alert?.message ?? '', /^the books of ethereum were not proven .*: its tip moved/)
})

test('books of a quiet chain are proven as long as its tip is, however old that is', async () => {
  const db = await testDatabase({ connectionsMax: 10 })
  const chain = await fundAddresses(db, { addresses: 10, underWay: 1, latencyMs: 0 })
  const gateway = { db, log: SILENT }
  assert.equal(await proveBlock(gateway, chain.port), 'proven')
  await db.query(`update proven_blocks set proven_at = now() - interval '1 hour'`)
  assert.equal(await proveBlock(gateway, chain.port), 'known')
  const { rows } = await db.query<{ fresh: boolean }>(
    `select proven_at > now() - interval '1 minute' as fresh from proven_blocks`,
  )
  assert.deepEqual(rows, [{ fresh: true }])
})
