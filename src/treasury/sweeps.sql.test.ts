/** Sweeps that were signed for more than is there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { listUnminedSweeps } from './sweeps.sql.ts'

test('sweeps whose deposits are gone for good hold up none that something is left for', async () => {
  const db = await testDatabase()
  const gone = Array.from({ length: 40 }, (_, index) => `0x${10 + index}`)
  const left = '0xff'
  for (const addresses of [gone, [left]]) {
    await db.query(
      `insert into signed_transactions (chain, txid, replacement_set, kind, status, asset, value_atoms, sender, nonce, fee_atoms,
         fee_rate, created_at, raw, refusal)
       select 'ethereum', a, a, 'sweep', 'refused', 'ETH', 1000, a, 0, 10, 1, clock_timestamp(), '00', 'no'
       from unnest($1::text[]) as a`,
      [addresses],
    )
    await db.query(
      `insert into sweeps (chain, id, address, series, position, asset, atoms, status, replacement_set)
       select 'ethereum', gen_random_uuid(), a, 'series', 0, 'ETH', 1010, 'sweeping', a from unnest($1::text[]) as a`,
      [addresses],
    )
  }
  await db.query(
    `insert into gas_funding (chain, txid, address, atoms, block_height) values ('ethereum', 'gas', $1, 21, 1)`,
    [left],
  )
  const list = async (timesFee: bigint) =>
    (await listUnminedSweeps(db, 'ethereum', { timesFee, limit: 40 })).map(({ address }) => address)
  assert.deepEqual(await list(2n), [left])
  assert.deepEqual(await list(3n), [])
})
