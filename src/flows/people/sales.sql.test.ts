import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { rankPayments } from '../../payments/places/payment-ranks.sql.ts'
import { readSales } from './sales.sql.ts'

test('payments of 30 days are as many, whatever days of them were counted already', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const model = await testPayment(gateway, account)
  await db.query(
    `insert into payments
     select made.* from payments p, generate_series(1, 200) n,
       jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
       'created_at', now() - make_interval(hours => 5 * n))) made
     where p.id = $1`,
    [model.id],
  )
  const { rows } = await db.query<{ expected: bigint }>(
    `select count(*) as expected from payments where account_id = $1 and created_at >= now() - interval '30 days'`,
    [account.id],
  )
  const created = async () => BigInt((await readSales(db, account.id, 'Europe/Berlin')).created)
  assert.equal(await created(), rows[0]?.expected)
  for (let turn = 0; ; turn++) {
    const isMore = await rankPayments(db, account.id, { countedAtOnce: 10 })
    assert.equal(await created(), rows[0]?.expected, `when ${turn + 1} times ten were counted`)
    if (!isMore) break
  }
})
