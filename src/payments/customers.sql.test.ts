import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { testAccount, testPayment } from '../../test/gateway.ts'
import { tellStory } from '../../test/story.ts'
import { invariant } from '../core/errors.ts'
import { hasPart, partOf } from '../db/list-filters.ts'
import { adjustCustomer, upsertCustomer } from './customers.sql.ts'
import { findCustomer, listCustomers } from './list-customers.sql.ts'

const db = await testDatabase()

const newAccount = async () => (await testAccount({ db })).id

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

test("the list's total is what counting gives, whoever comes at once and whatever is rolled back", async () => {
  const [shop, other] = [await newAccount(), await newAccount()]
  await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      db
        .transaction(async (tx) => {
          // Every email comes twice, every third customer is undone.
          await upsertCustomer(tx, index % 2 ? shop : other, `buyer${Math.floor(index / 4)}@example.com`)
          if (index % 12 >= 8) throw new RangeError('rolled back')
        })
        .catch((error: unknown) => assert.ok(error instanceof RangeError, String(error))),
    ),
  )
  for (const account of [shop, other]) {
    const { rows } = await db.query<{ count: bigint }>(
      'select count(*) from customers where account_id = $1',
      [account],
    )
    // Page 2 makes the list tell its total even when that is small.
    assert.equal((await listCustomers(db, account, { page: 2 })).total, Number(rows[0]?.count))
    assert.equal(rows[0]?.count, 10n)
  }
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

test('order_count and total_spent follow a payment: up when it settles, back when the chain takes it away', async () => {
  const story = await tellStory()
  await story.gateway.db.query("update accounts set currency = 'EUR' where id = $1", [story.account.id])
  const account = { ...story.account, currency: 'EUR' as const }
  const payment = await testPayment(story.gateway, account, { customerEmail: 'ann@example.com' })
  const read = async () => {
    invariant(payment.customerId, 'the payment names an email')
    const customer = await findCustomer(story.gateway.db, account.id, payment.customerId)
    return [customer?.orderCount, customer?.totalSpentMinor]
  }
  assert.deepEqual(await read(), [0, 0n])
  await story.pay(payment, payment.dueAtoms)
  await story.mine(6)
  await story.look()
  // 99 dollars net, at 90 euro to 100 dollars.
  assert.deepEqual(await read(), [1, 89_10n])
  await story.reorganise(6)
  await story.look()
  assert.deepEqual(await read(), [0, 0n])
  await story.mine(6)
  await story.look()
  assert.deepEqual(await read(), [1, 89_10n])
})

test('a part of an email is looked for by its trigrams', async () => {
  const plan = await db.transaction(async (tx) => {
    await tx.query(
      `insert into customers (account_id, id, email)
       select a.id, gen_random_uuid(), 'buyer' || n || '@example.com'
       from (select id from accounts limit 1) a, generate_series(1, 5000) n`,
    )
    await tx.query('analyze customers')
    const { rows } = await tx.query<{ 'QUERY PLAN': string }>(
      `explain (costs off) select from customers where ${hasPart('email', '$1')}`,
      [partOf('Ann@')],
    )
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  })
  assert.match(plan, /Bitmap Index Scan on customers_email_part/)
})
