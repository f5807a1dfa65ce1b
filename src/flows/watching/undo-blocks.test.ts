/** A reorganisation takes back everything that its blocks showed, whichever table says so. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { txidOf } from '../../../test/txid.ts'
import { recordUnexpectedDeposits } from '../../treasury/unexpected-deposits.sql.ts'
import { undoBlocksAbove } from './undo-blocks.sql.ts'

const CHAIN = 'sim-litecoin'
const FORK = 10

/** Columns that hold a height and are no statement of the watcher about a block of this branch, with the reason. */
const NOT_SHOWN: Readonly<Record<string, string>> = {
  'account_balances.seen_height': 'at least as new as: never too high for long, the payer reads it again',
  'proof_sums.height': 'deeper than any reorganisation that is followed',
  'proven_blocks.height': 'the block itself is compared by its hash',
  'signed_transactions.since_height': 'where a search begins',
  'signed_transactions.block_height': 'the payer asks the chain where our own transactions are',
  'sim_blocks.height': 'the simulated chain itself',
  'sim_transactions.height': 'the simulated chain itself',
}

test('no column of the schema tells of a block above the fork', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const payment = await testPayment(gateway, account)
  await db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, capital_height)
     values ($1, 'LTC', 'test', 12, 'block 12', now(), 11)`,
    [CHAIN],
  )
  for (const height of [9, 10, 11, 12])
    await db.query(
      `insert into chain_blocks (chain, height, hash, parent_hash, block_time) values ($1, $2, $3, '', now())`,
      [CHAIN, height, `block ${height}`],
    )
  for (const height of [10, 11, 12]) {
    await db.query(
      `insert into deposits (account_id, id, payment_id, chain, asset, tx_key, output_index, address, amount_atoms, status,
         block_height, block_hash, required_confirmations, seen_at, late, dust, mac)
       values ($1, gen_random_uuid(), $2, $3, 'LTC', $4, 0, 'address', 5, 'seen', $5, 'hash', 6, now(), false, false, sha256('mac'))`,
      [account.id, payment.id, CHAIN, `in ${height}`, height],
    )
    await db.query(
      `insert into deposits (account_id, id, payment_id, chain, asset, tx_key, output_index, address, amount_atoms, status,
         replaced_by, replaced_height, required_confirmations, seen_at, late, dust, mac)
       values ($1, gen_random_uuid(), $2, $3, 'LTC', $4, 0, 'address', 5, 'replaced', 'other', $5, 6, now(), false, false,
         sha256('mac'))`,
      [account.id, payment.id, CHAIN, `replaced in ${height}`, height],
    )
    await db.query(
      `insert into utxos (chain, txid, output_index, lookup, atoms, block_height, spent_by, spent_height)
       values ($1, $2, 0, '\\x00', 5, 10, 'spender', $3), ($1, $2, 1, '\\x00', 5, $3, null, null)`,
      [CHAIN, txidOf(`coin ${height}`), height],
    )
    await db.query(
      `insert into unexpected_deposits (chain, tx_key, output_index, lookup, asset, atoms, block_height)
       values ($1, $2, 0, '\\x00', 'ETH', 5, $3)`,
      [CHAIN, `receipt ${height}`, height],
    )
    await db.query(
      `insert into gas_funding (chain, txid, address, atoms, block_height) values ($1, $2, 'address', 5, $3)`,
      [CHAIN, `gas ${height}`, height],
    )
    await db.query(`insert into address_spends (chain, address, block_height) values ($1, 'address', $2)`, [
      CHAIN,
      height,
    ])
  }
  const columns = await heightColumns()
  const before = await highest(columns)
  assert.deepEqual(
    columns.filter((column) => (before.get(column) ?? 0) <= FORK),
    [],
    'every column that tells of a block is in this story, or named with the reason why not',
  )

  const { blocks, payments } = await db.transaction((tx) => undoBlocksAbove(tx, CHAIN, FORK))
  assert.equal(blocks, 2)
  assert.deepEqual(
    payments,
    [11, 12].map(() => ({ accountId: account.id, paymentId: payment.id })),
  )
  const after = await highest(columns)
  assert.deepEqual(
    columns.filter((column) => after.get(column) !== FORK),
    [],
  )
  const { rows } = await db.query<{ status: string; count: bigint }>(
    'select status, count(*) from deposits group by status order by status',
  )
  assert.deepEqual(
    rows.map(({ status, count }) => [status, Number(count)]),
    [
      ['reorganised', 2],
      ['replaced', 3],
      ['seen', 1],
    ],
  )

  async function heightColumns(): Promise<string[]> {
    const found = await db.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns
       where table_schema = 'public' and column_name like '%height' order by 1`,
    )
    return found.rows.map(({ name }) => name).filter((name) => !(name in NOT_SHOWN))
  }

  async function highest(of: readonly string[]): Promise<Map<string, number>> {
    const heights = new Map<string, number>()
    for (const column of of) {
      const [table, name] = column.split('.')
      const found = await db.query<{ height: bigint }>(
        `select coalesce(max(${name}), -1) as height from ${table} where chain = $1`,
        [CHAIN],
      )
      heights.set(column, Number(found.rows[0]?.height))
    }
    return heights
  }
})

test('what reached an address of our own is what the newest block says of it, under the same name', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const lookup = Buffer.alloc(20, 7)
  const record = (atoms: bigint, height: number) =>
    db.transaction((tx) =>
      recordUnexpectedDeposits(
        tx,
        'ethereum',
        '0xswap',
        [{ lookup, index: 3, asset: 'USDC', atoms }],
        height,
      ),
    )
  await record(5n, 7)
  await record(3n, 8)
  const { rows } = await db.query(
    'select atoms, block_height::int as height from unexpected_deposits where tx_key = $1',
    ['0xswap'],
  )
  assert.deepEqual(rows, [{ atoms: 3n, height: 8 }])
})
