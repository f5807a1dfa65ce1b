import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { impatient, type Statement, watched } from '../../test/watched-database.ts'
import type { Database } from '../db/database.ts'
import { listPayments, listPaymentsInFull, PAYMENT_SORTS } from './list-payments.sql.ts'

const gateway = await testGateway({ prepares: false })
const { db } = gateway
const account = await testAccount(gateway)
const model = await testPayment(gateway, account, { customerEmail: 'Ann@shop.example' })

// Few enough values of each column that there are many equals, also in time.
const COUNT = 2_345
await db.query(
  `insert into payments
   select made.* from payments p, generate_series(2, $2::integer) n,
     jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
     'created_at', timestamptz '2026-01-01Z' + make_interval(hours => n % 500),
     'asset', (array['BTC','LTC','ETH','USDC','USDT'])[1 + n % 5],
     'status', (array['pending','expired','failed'])[1 + n % 3],
     'net_minor', n % 7, 'fee_minor', p.fiat_minor - n % 7)) made
   where p.id = $1`,
  [model.id, COUNT],
)
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
      // Walked to, and as where that takes too long: then what matches is sorted.
      for (const asked of [db, impatient(db)]) {
        const shown = await listPayments(asked, account.id, { ...query, page, limit: 50 })
        assert.deepEqual(
          shown.items.map((item) => item.id),
          rows.slice((page - 1) * 50, page * 50).map((row) => row.id),
        )
        assert.equal(shown.total, rows.length)
      }
    }
  }
})

test('sorted by one word and filtered by the other, a list holds what it did', async () => {
  for (const [query, where, column] of [
    [{ sort: 'status', filter_asset: 'LTC' }, `asset = 'LTC'`, 'status'],
    [
      { sort: 'status', filter_asset: 'LTC,ETH', filter_status: 'pending,failed' },
      `asset in ('LTC', 'ETH') and status <> 'expired'`,
      'status',
    ],
    [{ sort: 'status', filter_asset: 'LTC', filter_asset_op: 'is_not' }, `asset <> 'LTC'`, 'status'],
    [{ sort: 'asset', filter_status: 'failed' }, `status = 'failed'`, 'asset'],
    [{ sort: 'status', filter_asset: 'LTC', filter_status_op: 'is_not' }, `asset = 'LTC'`, 'status'],
    [{ sort: 'asset', filter_status: 'failed', filter_asset_op: 'is_not' }, `status = 'failed'`, 'asset'],
    [{ sort: 'asset', filter_status: 'completed' }, 'false', 'asset'],
  ] as const) {
    const { rows } = await db.query<{ id: string }>(
      `select id from payments where account_id = $1 and ${where} order by ${column} desc, created_at desc, id desc`,
      [account.id],
    )
    for (const page of [1, 3, 12, 20]) {
      const shown = await listPayments(db, account.id, { ...query, page, limit: 100 })
      assert.deepEqual(
        shown.items.map((item) => item.id),
        rows.slice((page - 1) * 100, page * 100).map((row) => row.id),
      )
      assert.equal(shown.total, rows.length)
    }
  }
})

test('sorted by status, no payments are walked through of statuses that a coin has none of', async () => {
  const other = await testAccount(gateway)
  await db.transaction(async (tx) => {
    // Counted at once, not row by row.
    await tx.query('set local session_replication_role = replica')
    await tx.query(
      `insert into payments
       select made.* from payments p, generate_series(1, 12000) n,
         jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'account_id', $2::text, 'customer_id', null,
         'customer_email', null, 'created_at', timestamptz '2026-01-01Z' + make_interval(secs => n),
         'asset', case when n <= 100 then 'BTC' else 'LTC' end,
         'status', case when n <= 100 then 'cancelled' else 'expired' end)) made
       where p.id = $1`,
      [model.id, other.id],
    )
    await tx.query(
      `insert into payment_counts (account_id, asset, status, slot, payments)
       select account_id, asset, status, 0, count(*) from payments where account_id = $1 group by 1, 2, 3`,
      [other.id],
    )
  })
  await db.query('analyze payments')
  const asked: Statement[] = []
  const watching = watched(db, (...statement) => asked.push(statement))
  const page = await listPaymentsInFull(watching, other.id, {
    sort: 'status',
    filter_asset: 'BTC',
    limit: 25,
  })
  assert.deepEqual([page.items.length, page.total, page.isBounded], [25, 100, undefined])
  const [text, values] = asked.find(([each]) => each.includes('order by p.status')) ?? assert.fail()
  const { rows } = await db.query<{ 'QUERY PLAN': string }>(`explain (analyze, timing off) ${text}`, values)
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  const removed = /Rows Removed by Filter: (\d+)/.exec(plan)?.[1] ?? '0'
  assert.ok(Number(removed) < 1_000, plan)
  // Counters tell how many there are, whatever their number; other filters are counted as far as people want to know.
  const all = await listPaymentsInFull(db, other.id, { filter_asset: 'LTC' })
  assert.deepEqual([all.total, all.isBounded], [11_900, undefined])
  const some = await listPaymentsInFull(db, other.id, { start_date: '2026-01-01' })
  assert.deepEqual([some.total, some.isBounded], [10_000, true])
  for (const page of [3, 60, 390]) {
    const query = { start_date: '2026-01-01', page, limit: 25 }
    const ids = (await listPayments(db, other.id, query)).items.map(({ id }) => id)
    for (const asked of [db, impatient(db)]) {
      const { items, total, isBounded } = await listPaymentsInFull(asked, other.id, query)
      assert.deepEqual([total, isBounded], [10_000, true])
      assert.deepEqual(
        items.map(({ id }) => id),
        ids,
        `page ${page} of more than are counted`,
      )
    }
  }
  // The other coin's are the oldest: few that match are found from there, whichever end they are asked from.
  let read = 0
  const counting = watched(db, async (...statement) => {
    read += await rowsRead(db, statement)
  })
  const few = await listPaymentsInFull(impatient(counting), other.id, {
    filter_asset: 'BTC',
    start_date: '2026-01-01',
  })
  assert.deepEqual([few.items.length, few.total], [25, 100])
  const { rows: oldest } = await db.query<{ id: string }>(
    `select id from payments where account_id = $1 and asset = 'BTC' order by created_at desc, id desc limit 25`,
    [other.id],
  )
  assert.deepEqual(
    few.items.map(({ id }) => id),
    oldest.map(({ id }) => id),
  )
  assert.ok(read < 1_000, `${read} rows are read`)
  const exact = await listPayments(db, other.id, { start_date: '2026-01-01' })
  assert.deepEqual([exact.total, exact.isBounded], [12_000, undefined])
  // A walk has the longer, the more it would take to read and sort all that match.
  const limits: (number | undefined)[] = []
  const noting: Database = {
    ...db,
    transaction: (work, options) => {
      limits.push(options?.statementLimitMs)
      return db.transaction(work, options)
    },
  }
  await listPayments(noting, other.id, { start_date: '2026-01-01', page: 240, limit: 25 })
  assert.deepEqual(limits, [13])
  // Of a list that is counted no further, what lies before the page.
  limits.length = 0
  await listPaymentsInFull(noting, other.id, { start_date: '2026-01-01', page: 390, limit: 25 })
  assert.deepEqual(limits, [29])
  // Where PostgreSQL would sort all that match instead of walking, their keys alone are sorted, and no time is lost before.
  limits.length = 0
  const sorting: Database = {
    ...noting,
    query: async <Row>(text: string, values?: readonly unknown[], hot?: 'prepared') =>
      text.startsWith('explain')
        ? {
            rows: [{ 'QUERY PLAN': [{ Plan: { 'Node Type': 'Sort', 'Plan Rows': 12_000 } }] } as Row],
            rowCount: 1,
          }
        : db.query<Row>(text, values, hot),
  }
  const query = { start_date: '2026-01-01', sort: 'id', page: 240, limit: 25 }
  const sorted = await listPayments(sorting, other.id, query)
  assert.deepEqual(limits, [])
  assert.deepEqual(sorted, await listPayments(db, other.id, query))
})

test('lists of one status are read in their order, whatever PostgreSQL thinks how few there are', async () => {
  const other = await testAccount(gateway)
  const copy = (status: string, from: number, to: number) =>
    db.query(
      `insert into payments
       select made.* from payments p, generate_series($4::integer, $5::integer) n,
         jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'account_id', $2::text, 'customer_id', null,
         'customer_email', null, 'status', $3::text, 'expires_at', now() + interval '1 hour', 'decision_due', false,
         'created_at', timestamptz '2026-01-01Z' + make_interval(secs => n))) made
       where p.id = $1`,
      [model.id, other.id, status, from, to],
    )
  await db.query('alter table payments set (autovacuum_enabled = off)')
  await copy('expired', 1, 60_000)
  await db.query('analyze payments')
  await copy('pending', 60_001, 80_000)
  const { rows } = await db.query<{ 'QUERY PLAN': string }>(
    `explain select p.id from payments p where p.account_id = $1 and p.status = 'pending'
     order by p.created_at desc, p.id desc limit 25`,
    [other.id],
  )
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  assert.match(plan, /payments_status/)
  assert.doesNotMatch(plan, /Sort/)
})
