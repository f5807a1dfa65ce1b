import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { countPaymentsOfDayBefore } from '../../payments/daily-payments.sql.ts'
import { readSales } from './sales.sql.ts'

test('payments of 30 days are as many, whatever days of them were counted already', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const model = await testPayment(gateway, account)
  await db.query(
    `insert into payments
     select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
       'created_at', now() - make_interval(hours => 5 * n)))).*
     from payments p, generate_series(1, 200) n where p.id = $1`,
    [model.id],
  )
  const { rows } = await db.query<{ expected: bigint; days: string[] }>(
    `select count(*) filter (where created_at >= now() - interval '30 days') as expected,
       (select array_agg(((now() at time zone 'UTC')::date - age)::text order by age desc) from generate_series(0, 42) age) as days
     from payments where account_id = $1`,
    [account.id],
  )
  const { expected, days } = rows[0] ?? assert.fail()
  const created = async () => BigInt((await readSales(db, account.id, 'Europe/Berlin')).created)
  assert.equal(await created(), expected)
  for (const day of days) {
    await countPaymentsOfDayBefore(db, day)
    assert.equal(await created(), expected, `with all days before ${day} counted`)
  }
})
