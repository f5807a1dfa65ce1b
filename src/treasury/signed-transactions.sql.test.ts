/** Transactions of ours that ended: which of them are in blocks that our branch does not hold. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { REORGANISATION_DEPTH_MAX } from '../chains/chain.ts'
import { advanceTip, openChain } from '../chains/chain-progress.sql.ts'
import type { Database } from '../db/database.ts'
import { undoBlocksAbove } from '../flows/watching/undo-blocks.sql.ts'
import { findUnseenEnd, listTakenBack } from './signed-transactions.sql.ts'

const CHAIN = 'bitcoin'
const FIRST = 1_000

const block = (height: number, branch = 'a') => ({
  height,
  hash: `${branch}${height}`,
  parentHash: `${branch}${height - 1}`,
  time: new Date(),
})

async function chainUpTo(tip: number): Promise<Database> {
  const db = await testDatabase()
  await db.transaction((tx) => openChain(tx, CHAIN, { identity: 'genesis', ...block(FIRST) }, []))
  await follow(db, FIRST + 1, tip)
  return db
}

async function follow(db: Database, from: number, to: number, branch = 'a'): Promise<void> {
  await db.transaction(async (tx) => {
    for (let height = from; height <= to; height++) await advanceTip(tx, CHAIN, block(height, branch))
  })
}

/** One that ended in a block of the first branch, named by its height. */
const ended = (db: Database, ...heights: number[]) =>
  db.query(
    `insert into signed_transactions (chain, txid, replacement_set, kind, status, asset, value_atoms, fee_atoms, fee_rate,
       block_height, block_hash, paid_fee_atoms)
     select $1, height, height, 'payout', 'confirmed', 'BTC', 1, 1, 1, height, 'a' || height, 1 from unnest($2::bigint[]) as height`,
    [CHAIN, heights],
  )

const takenBack = async (db: Database) =>
  (await listTakenBack(db, CHAIN)).map(({ txid }) => Number(txid)).sort((a, b) => a - b)

test('as deep as a reorganisation is followed, every end that it took is found until long after', async () => {
  const tip = FIRST + 3 * REORGANISATION_DEPTH_MAX
  const db = await chainUpTo(tip)
  const fork = tip - REORGANISATION_DEPTH_MAX
  await ended(db, FIRST, fork, fork + 1, tip)
  assert.equal(await findUnseenEnd(db, CHAIN), null)
  await db.transaction((tx) => undoBlocksAbove(tx, CHAIN, fork))
  assert.deepEqual(await takenBack(db), [], 'above our tip it only was not followed yet')
  assert.notEqual(await findUnseenEnd(db, CHAIN), null)
  await follow(db, fork + 1, fork + 1, 'b')
  assert.deepEqual(await takenBack(db), [fork + 1])
  // Nobody looked while as many blocks as that came on top of it.
  await follow(db, fork + 2, tip + REORGANISATION_DEPTH_MAX, 'b')
  assert.deepEqual(await takenBack(db), [fork + 1, tip])
})

test('what ended in a block that is not followed yet is unseen, and not taken back', async () => {
  const db = await chainUpTo(FIRST + 5)
  await ended(db, FIRST + 6)
  assert.deepEqual(await takenBack(db), [])
  assert.equal(await findUnseenEnd(db, CHAIN), String(FIRST + 6))
  await follow(db, FIRST + 6, FIRST + 6)
  assert.equal(await findUnseenEnd(db, CHAIN), null)
})

test('an end below the first block that was followed is nothing that a reorganisation took', async () => {
  const db = await chainUpTo(FIRST + 5)
  await ended(db, FIRST - 10)
  assert.deepEqual([await takenBack(db), await findUnseenEnd(db, CHAIN)], [[], null])
})
