/** The operator's capital is booked once, whatever becomes of the blocks it came in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import { txidOf } from '../../../test/txid.ts'
import { searchCapitalAgain } from '../../treasury/unexpected-deposits.sql.ts'
import { bookCapital } from './book-capital.ts'

const CHAIN = 'litecoin'
const DEPTH = 6
const gateway = await testGateway()
const { db } = gateway
await db.query(
  `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time) values ($1, 'LTC', 'test', 10, 'tip 10', now())`,
  [CHAIN],
)
const { rows } = await db.query<{ lookup: Buffer }>(
  'select lookup from addresses where chain = $1 and payment_id is null limit 1',
  [CHAIN],
)
const lookup = rows[0]?.lookup ?? assert.fail('a wallet of the tests')

const give = (name: string, height: number | null) =>
  db.query(
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height) values ($1, $2, 0, $3, 1000, $4)
     on conflict (chain, txid, output_index) do update set block_height = excluded.block_height`,
    [CHAIN, txidOf(name), lookup, height],
  )
const moveTo = (height: number, branch = 'tip') =>
  db.query(`update chains set tip_height = $2, tip_hash = $3 where chain = $1`, [
    CHAIN,
    height,
    `${branch} ${height}`,
  ])
const searchedUpTo = async () =>
  Number(
    (
      await db.query<{ height: bigint }>('select capital_height as height from chains where chain = $1', [
        CHAIN,
      ])
    ).rows[0]?.height,
  )
const booked = async () =>
  (
    await db.query<{ txid: string }>(
      "select subject_id as txid from journal_entries where kind = 'capital' order by created_at, id",
    )
  ).rows.map(({ txid }) => txid)

test('capital is booked when its block is deep enough, and no block is searched twice', async () => {
  await give('first', 8)
  assert.equal(await bookCapital(gateway, CHAIN), 0)
  assert.equal(await searchedUpTo(), 10 - DEPTH + 1)
  await moveTo(13)
  assert.equal(await bookCapital(gateway, CHAIN), 1)
  assert.deepEqual([await booked(), await searchedUpTo()], [[txidOf('first')], 8])
  assert.equal(await bookCapital(gateway, CHAIN), 0)
})

test('a reorganisation below it has its blocks searched again: it is booked once, and its neighbour too', async () => {
  await give('first', null)
  await db.transaction((tx) => searchCapitalAgain(tx, CHAIN, 5))
  await moveTo(5)
  await bookCapital(gateway, CHAIN)
  await give('first', 7)
  await give('neighbour', 6)
  await moveTo(14, 'branch')
  assert.equal(await bookCapital(gateway, CHAIN), 1)
  assert.deepEqual(await booked(), ['first', 'neighbour'].map(txidOf))
})

test('what a payer searched while the chain moved is searched again', async () => {
  await give('moving', 10)
  await moveTo(15, 'branch')
  // Another block comes between the search and its end.
  const moving = {
    ...gateway,
    db: {
      ...db,
      query: async (text: string, values: unknown[]) => {
        if (text.includes('set capital_height = $3')) await moveTo(16, 'branch')
        return db.query(text, values)
      },
    },
  } as typeof gateway
  assert.equal(await bookCapital(moving, CHAIN), 1)
  assert.equal(await searchedUpTo(), 9)
  assert.equal(await bookCapital(gateway, CHAIN), 0)
  assert.equal(await searchedUpTo(), 11)
})

test('more than one page of it is booked page by page', async () => {
  for (let n = 0; n < 130; n++) await give(`many ${n}`, 12)
  await moveTo(17, 'branch')
  assert.equal(await bookCapital(gateway, CHAIN), 100)
  assert.equal(await searchedUpTo(), 11)
  assert.equal(await bookCapital(gateway, CHAIN), 30)
  assert.equal(await searchedUpTo(), 12)
})
