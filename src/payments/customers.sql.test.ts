import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { newId } from '../core/ids.ts'
import { adjustCustomer, upsertCustomer } from './customers.sql.ts'

const db = await testDatabase()

async function newAccount() {
  const id = newId('acct')
  await db.query(
    "insert into accounts (id, name, email, mode, currency) values ($1, 'Shop', 'shop@example.com', 'test', 'USD')",
    [id],
  )
  return id
}

test('an email is one customer per account, whatever its case, and keeps its first spelling', async () => {
  const [shop, other] = [await newAccount(), await newAccount()]
  const first = await db.transaction((tx) => upsertCustomer(tx, shop, 'Ann@Example.com'))
  assert.equal(await db.transaction((tx) => upsertCustomer(tx, shop, 'aNN@example.COM')), first)
  assert.notEqual(await db.transaction((tx) => upsertCustomer(tx, other, 'Ann@Example.com')), first)
  const { rows } = await db.query('select email from customers where account_id = $1', [shop])
  assert.deepEqual(rows, [{ email: 'Ann@Example.com' }])
})

test('transactions that meet on a new email make one customer', async () => {
  const shop = await newAccount()
  const ids = await Promise.all(
    Array.from({ length: 20 }, () => db.transaction((tx) => upsertCustomer(tx, shop, 'many@example.com'))),
  )
  assert.equal(new Set(ids).size, 1)
})

test('a settlement and its reversal leave a customer as he was', async () => {
  const accountId = await newAccount()
  const read = async () =>
    (
      await db.query<{ orders: number; spent: bigint }>(
        'select order_count as orders, total_spent_minor as spent from customers where account_id = $1',
        [accountId],
      )
    ).rows[0]
  await db.transaction(async (tx) => {
    const customerId = await upsertCustomer(tx, accountId, 'ann@example.com')
    await adjustCustomer(tx, { accountId, customerId, orders: 1, spentMinor: 24_75n })
  })
  assert.deepEqual(await read(), { orders: 1, spent: 24_75n })
  await db.transaction(async (tx) => {
    const customerId = await upsertCustomer(tx, accountId, 'ann@example.com')
    await adjustCustomer(tx, { accountId, customerId, orders: -1, spentMinor: -24_75n })
  })
  assert.deepEqual(await read(), { orders: 0, spent: 0n })
})
