import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { txidOf } from '../../test/txid.ts'
import type { Database } from '../db/database.ts'
import { markUtxosSpent, recordUtxos, type UtxoBlock } from './utxos.sql.ts'

const OURS = Uint8Array.of(0x00, 0x14, ...new Uint8Array(20).fill(1))
const THEIRS = Uint8Array.of(0x00, 0x14, ...new Uint8Array(20).fill(2))
const [MADE, SPENT, OTHER] = [txidOf('made'), txidOf('spent'), txidOf('other')]
const isOurs = (lookup: Uint8Array) => lookup[2] === 1

interface SpendingBlock extends UtxoBlock {
  readonly transactions: readonly (UtxoBlock['transactions'][number] & {
    readonly inputs: readonly { txid: string; index: number }[]
  })[]
}

const paying: SpendingBlock = {
  height: 10,
  transactions: [
    {
      key: MADE,
      inputs: [{ txid: OTHER, index: 4_294_967_295 }],
      outputs: [
        { lookup: THEIRS, index: 0, atoms: 9n },
        { lookup: OURS, index: 1, atoms: 5n },
      ],
    },
  ],
}
const spending: SpendingBlock = {
  height: 11,
  transactions: [{ key: SPENT, inputs: [{ txid: MADE, index: 1 }], outputs: [] }],
}

const record = (db: Database, block: SpendingBlock) =>
  db.transaction(async (tx) => {
    await recordUtxos(tx, 'bitcoin', block, isOurs)
    const spends = block.transactions.flatMap(({ key, inputs }) =>
      inputs.map(({ txid, index }) => ({ txKey: key, spentTx: txid, spentIndex: index })),
    )
    await markUtxosSpent(tx, 'bitcoin', block.height, spends)
  })
const utxos = async (db: Database) =>
  (
    await db.query(
      'select txid, output_index, atoms, block_height, spent_by, spent_height from utxos order by txid',
    )
  ).rows

test('a block gives UTXOs and spends them; reading it again changes nothing', async () => {
  const db = await testDatabase()
  for (let time = 0; time < 2; time++) {
    await record(db, paying)
    await record(db, spending)
  }
  assert.deepEqual(await utxos(db), [
    { txid: MADE, output_index: 1, atoms: 5n, block_height: 10n, spent_by: SPENT, spent_height: 11n },
  ])
})

test('a coin made and spent in one block is known as spent', async () => {
  const db = await testDatabase()
  const both = { height: 10, transactions: [...paying.transactions, ...spending.transactions] }
  await record(db, both)
  assert.deepEqual(await utxos(db), [
    { txid: MADE, output_index: 1, atoms: 5n, block_height: 10n, spent_by: SPENT, spent_height: 10n },
  ])
})
