/** Whose payments are counted when, and when another grid is; what lists make of it: list-places.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import type { AccountId } from '../../core/ids.ts'
import { rankNext } from '../../workers/rank-payments.ts'
import { findAccountToRank, forgetUncountedChanges, rankPayments } from './payment-ranks.sql.ts'

const gateway = await testGateway()
const { db } = gateway

test('who counts an account keeps nobody waiting, and one whose count fails comes after the others', async () => {
  const [account, other] = [await testAccount(gateway), await testAccount(gateway)]
  for (const each of [account, other]) await testPayment(gateway, each)
  for (const { id } of [account, other]) while (await rankPayments(db, id)) {}
  await db.query(
    `update payments set created_at = created_at - interval '3 hours' where account_id = any($1)`,
    [[account.id, other.id]],
  )
  await db.query(
    `update payment_ranks set made_before = made_before - interval '4 hours' where account_id = any($1)`,
    [[account.id, other.id]],
  )
  await db.query(
    `update payment_ranks set made_before = made_before - interval '1 hour' where account_id = $1`,
    [account.id],
  )
  const passedOver = new Map<AccountId, number>()
  assert.equal(await findAccountToRank(db), account.id)
  await db.transaction(async (tx) => {
    await tx.query('select from payment_ranks where account_id = $1 for update', [account.id])
    assert.equal(await rankPayments(db, account.id), null)
    assert.equal(await rankNext(gateway, passedOver), true)
    assert.deepEqual([...passedOver.keys()], [account.id])
    assert.equal(await findAccountToRank(db, [...passedOver.keys()]), other.id)
    assert.equal(await rankNext(gateway, passedOver), true)
    assert.equal(await rankNext(gateway, passedOver), false)
    assert.equal(passedOver.size, 0)
  })
  await db.query('alter table payment_rungs rename to payment_steps')
  await assert.rejects(rankNext(gateway, passedOver), /payment_rungs/)
  await db.query('alter table payment_steps rename to payment_rungs')
  assert.deepEqual([...passedOver.keys()], [account.id])
  while (await rankNext(gateway, passedOver)) {}
  assert.equal(await findAccountToRank(db), account.id)
  while (await rankNext(gateway, passedOver)) {}
  assert.equal(await findAccountToRank(db), null)
})

test('another grid is counted when the account has outgrown the last, and when one amount has filled a rung', async () => {
  const other = await testAccount(gateway)
  const model = await testPayment(gateway, other)
  const sizes = { rung: 4, countedAtOnce: 5_000, rungsMax: 100 }
  /**
   * @param amount - SQL, of the `n`-th of so many.
   * @returns Of the grid, which one it is, and of how many of the account's rungs.
   */
  const grow = async (count: number, amount: string, hoursAgo: number) => {
    await db.query(
      `insert into payments
       select made.* from payments p, generate_series(0, $2::integer - 1) n,
         jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
           'created_at', now() - make_interval(hours => $3::integer) + make_interval(secs => n * 7919 % 3000),
           'net_minor', ${amount}, 'fee_minor', p.fiat_minor - (${amount}))) made
       where p.id = $1`,
      [model.id, count, hoursAgo],
    )
    while (await rankPayments(db, other.id, sizes)) {}
    // Counted until then: nothing was made since.
    await db.query(
      'update payment_ranks set made_before = now() - make_interval(hours => $2::integer - 1) where account_id = $1',
      [other.id, hoursAgo],
    )
    const { rows } = await db.query<{ generation: number; rungs: number }>(
      'select generation, rungs from payment_grids where account_id = $1',
      [other.id],
    )
    assert.equal(rows.length, 1)
    return rows[0] ?? assert.fail()
  }
  assert.deepEqual(await grow(2_000, 'n', 9), { generation: 1, rungs: 500 })
  assert.deepEqual(await grow(40, 'n * 50', 8), { generation: 1, rungs: 500 })
  // Of each rung there is more than twice as much, which is less than fills one.
  assert.deepEqual(await grow(2_400, 'n * 2000 / 2400', 7), { generation: 2, rungs: 1_000 })
  assert.equal((await grow(200, '700', 6)).generation, 2)
  // Its rungs are looked at by the next turn.
  const { generation, rungs } = await grow(10, 'n * 100', 5)
  assert.equal(generation, 3)
  assert.ok(rungs < 1_100, `${rungs} rungs`)
})

test('what changes of lists that are not counted is not kept', async () => {
  const small = await testAccount(gateway)
  await db.query(
    `insert into payment_changes select $1, gen_random_uuid(), now(), 'BTC', 'pending', 'expired', 1, 1, now() - at
     from unnest(array[interval '3 hours', interval '1 hour']) at`,
    [small.id],
  )
  assert.equal(await forgetUncountedChanges(db, 500), 1)
  const { rows } = await db.query('select from payment_changes where account_id = $1', [small.id])
  assert.equal(rows.length, 1)
  assert.notEqual(await findAccountToRank(db), small.id)
})

test('an account of which nothing is old enough yet is counted as one that has nothing', async () => {
  const small = await testAccount(gateway)
  await testPayment(gateway, small)
  assert.equal(await rankPayments(db, small.id), false)
  const { rows } = await db.query<{ marks: string[]; ids: string[] }>(
    'select marks::text[], ids::text[] from payment_grids where account_id = $1',
    [small.id],
  )
  assert.deepEqual(rows, [{ marks: [], ids: ['00000000-0000-0000-0000-000000000000'] }])
})
