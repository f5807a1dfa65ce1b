import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { countPaymentsOfDayBefore } from './daily-payments.sql.ts'
import { listPayments, PAYMENT_SORTS } from './list-payments.sql.ts'

const gateway = await testGateway()
const { db } = gateway
const account = await testAccount(gateway)
const model = await testPayment(gateway, account, { customerEmail: 'Ann@shop.example' })

// Few enough values of each column that there are many equals, also in time.
const COUNT = 2_345
await db.query(
  `insert into payments
   select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
     'created_at', timestamptz '2026-01-01Z' + make_interval(hours => n % 500),
     'asset', (array['BTC','LTC','ETH','USDC','USDT'])[1 + n % 5],
     'status', (array['pending','expired','failed'])[1 + n % 3],
     'net_minor', n % 7, 'fee_minor', p.fiat_minor - n % 7))).*
   from payments p, generate_series(2, $2::integer) n where p.id = $1`,
  [model.id, COUNT],
)
// Twenty-one days, of which the last ones are not counted yet; and a day without payments.
for (let day = 2; day <= 19; day++)
  await countPaymentsOfDayBefore(db, `2026-01-${String(day).padStart(2, '0')}`)
await countPaymentsOfDayBefore(db, '2025-12-01')

const COLUMN = { id: 'id', total: 'net_minor', asset: 'asset', status: 'status', created_at: 'created_at' }
for (const sort of PAYMENT_SORTS) {
  for (const order of ['asc', 'desc'] as const) {
    test(`pages near, deep, in the middle and last, sorted by ${sort} ${order}, are parts of one order`, async () => {
      const { rows } = await db.query<{ id: string }>(
        `select id from payments where account_id = $1 order by ${COLUMN[sort]} ${order}, created_at ${order}, id ${order}`,
        [account.id],
      )
      for (const page of [1, 2, 10, 11, 12, 13, 22, 23, 24, 25, 1_000]) {
        const shown = await listPayments(db, account.id, { sort, order, page, limit: 100 })
        assert.deepEqual(
          shown.items.map((item) => item.id),
          rows.slice((page - 1) * 100, page * 100).map((row) => row.id),
          `page ${page}`,
        )
        assert.deepEqual([shown.total, shown.totalPages], [COUNT, 24])
      }
    })
  }
}

test('a day is counted once, when it is over', async () => {
  const count = async () =>
    (
      await db.query<{ n: bigint; days: bigint }>(
        'select sum(payments) as n, count(*) as days from daily_payments',
      )
    ).rows
  const { rows } = await db.query<{ n: bigint; days: bigint }>(
    `select count(*)::numeric as n, count(distinct created_at::date) as days from payments where created_at < '2026-01-19Z'`,
  )
  assert.deepEqual(await count(), rows)
  await countPaymentsOfDayBefore(db, '2026-01-10')
  assert.deepEqual(await count(), rows)
})

test('deep pages of a filtered list are parts of it', async () => {
  for (const [query, where] of [
    [{ filter_email: 'ANN@' }, `customer_email ilike 'ann@%'`],
    [{ filter_status: 'pending,failed' }, `status in ('pending', 'failed')`],
    [
      { start_date: '2026-01-01T00:00:30Z', filter_asset: 'LTC', filter_asset_op: 'is_not' },
      `created_at >= '2026-01-01T00:00:30Z' and asset <> 'LTC'`,
    ],
  ] as const) {
    const { rows } = await db.query<{ id: string }>(
      `select id from payments where account_id = $1 and ${where} order by created_at desc, id desc`,
      [account.id],
    )
    for (const page of [1, 3, 27, 29, Math.ceil(rows.length / 50), 60]) {
      const shown = await listPayments(db, account.id, { ...query, page, limit: 50 })
      assert.deepEqual(
        shown.items.map((item) => item.id),
        rows.slice((page - 1) * 50, page * 50).map((row) => row.id),
      )
      assert.equal(shown.total, rows.length)
    }
  }
})
