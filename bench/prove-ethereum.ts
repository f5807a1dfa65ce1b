/**
 * The proof of the books of Ethereum with many funded addresses, a hundred transactions under way, a node that answers in
 * 100 ms, and a block every 2 s: the whole proof has to finish, and a theft by a transaction, at the hot wallet or at any old
 * address, to be found within two blocks. What code takes without a trace only the walk over all addresses finds: how soon depends
 * on the machine, and is told.
 *
 *   node bench/prove-ethereum.ts [addresses]
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { SILENT } from '../src/core/log.ts'
import { openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { type ProverMemory, proveBlock } from '../src/proof/prove-block.ts'
import { reconcile } from '../src/proof/reconcile.ts'
import { fundAddresses, STAND_IN_HOT_WALLET } from '../test/funded-addresses.ts'
import { benchFolder } from './folder.ts'

const ADDRESSES = Number(process.argv[2] ?? 200_000)
const BLOCK_MS = 2_000
const BLOCKS_MAX = 2
const say = (line: string) => process.stdout.write(`${line}\n`)

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: folder })
let miner: NodeJS.Timeout | undefined
let adding: Promise<void> = Promise.resolve()
try {
  const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 10 })
  await migrate(db)
  const chain = await fundAddresses(db, { addresses: ADDRESSES, underWay: 100, latencyMs: 100 })
  await db.query('vacuum analyze')
  let blocks = 0
  miner = setInterval(() => {
    blocks += 1
    adding = chain.addBlock()
  }, BLOCK_MS)

  const began = performance.now()
  const proof = await reconcile(db, [chain.port])
  assert.deepEqual(proof.unproven, [])
  assert.deepEqual(proof.differences, [])
  say(
    `whole proof of ${ADDRESSES} addresses: ${((performance.now() - began) / 1_000).toFixed(1)} s, ${blocks} blocks meanwhile`,
  )

  const gateway = { db, log: SILENT }
  const memory: ProverMemory = {}
  const turns: number[] = []
  let found = 0
  for (const [part, by] of [
    [null, 'transaction'],
    [0.1, 'transaction'],
    [0.5, 'transaction'],
    [0.9, 'transaction'],
    [0.1, 'code'],
    [0.9, 'code'],
  ] as const) {
    for (let turn = 0; turn < 2; turn++) await prove()
    const robbed = part === null ? STAND_IN_HOT_WALLET : await chain.addressAt(part)
    const before = blocks
    chain.steal(robbed, 1n, by)
    while ((await prove()) !== 'unlike');
    const took = blocks - before
    const { rows } = await db.query<{ reason: string }>('delete from freezes returning reason')
    assert.match(rows[0]?.reason ?? '', part === null ? /the hot wallet/ : new RegExp(robbed))
    chain.steal(robbed, 0n)
    if (by === 'transaction') found = Math.max(found, took)
    const bar = by === 'transaction' ? ` (bar: at most ${BLOCKS_MAX})` : ''
    say(
      `a theft of 1 wei by ${by} at ${part === null ? 'the hot wallet' : 'an old address'} is found after ${took} blocks${bar}`,
    )
  }
  turns.sort((a, b) => a - b)
  say(`a turn takes ${turns[turns.length >> 1]?.toFixed(0)} ms, the longest ${turns.at(-1)?.toFixed(0)} ms`)
  process.exitCode = found <= BLOCKS_MAX ? 0 : 1

  async function prove() {
    const start = performance.now()
    const verdict = await proveBlock(gateway, chain.port, memory)
    if (verdict !== 'known') turns.push(performance.now() - start)
    // As the prover does, which waits for a block when the tip is proven.
    else await new Promise((resolve) => setTimeout(resolve, 50))
    return verdict
  }
} finally {
  clearInterval(miner)
  await adding
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}
