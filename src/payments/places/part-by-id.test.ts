import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { rowsRead } from '../../../test/rows-read.ts'
import { impatient, type Statement, watched } from '../../../test/watched-database.ts'
import type { ListQuery } from '../../db/list-filters.ts'
import { listPayments } from '../list-payments.sql.ts'
import { forgetRanks, rankPayments } from './payment-ranks.sql.ts'

const gateway = await testGateway({ prepares: false })
const { db } = gateway
const account = await testAccount(gateway)
const model = await testPayment(gateway, account, {})
const COUNT = 40_000
const SMALL = { rung: 400, countedAtOnce: 10_000 }
/** Of two months, made by clocks that are up to nine seconds off, one way or the other; several in each second. */
const MADE = `timestamptz '2026-01-01Z' + make_interval(secs => n / 4)`
const idAt = (time: string) =>
  `(lpad(to_hex(floor(extract(epoch from ${time}) * 1000)::bigint + n * 7919 % 18001 - 9000), 12, '0')
    || '7' || left(md5(n::text), 19))::uuid`
const insert = (n: string, id = idAt(MADE), made = MADE) =>
  db.query(
    `insert into payments
     select made.* from payments p, ${n},
       jsonb_populate_record(p, jsonb_build_object('id', ${id}, 'created_at', ${made}, 'net_minor', n * 13 % 101,
         'fee_minor', p.fiat_minor - n * 13 % 101, 'status', (array['pending','expired','failed','cancelled'])[1 + n % 4])) made
     where p.id = $1`,
    [model.id],
  )
await db.transaction(async (tx) => {
  await tx.query('delete from payment_counts where account_id = $1', [account.id])
})
await insert(`generate_series(1, ${COUNT}) n`)
await db.query('analyze payments')

const AT = (n: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 250).toISOString()
const CASES: readonly [query: ListQuery, where: string][] = [
  [{ start_date: AT(3_333) }, `created_at >= '${AT(3_333)}'`],
  [{ end_date: AT(36_001) }, `created_at < '${AT(36_001)}'`],
  [
    { start_date: AT(4_321), end_date: AT(35_002) },
    `created_at >= '${AT(4_321)}' and created_at < '${AT(35_002)}'`,
  ],
  [
    { start_date: AT(9_000), total_max: 0.8, filter_status: 'failed', filter_status_op: 'is_not' },
    `created_at >= '${AT(9_000)}' and net_minor <= 80 and status <> 'failed'`,
  ],
  [{ total_min: 0.2 }, 'net_minor >= 20'],
  // So few that they are not counted.
  [
    { start_date: AT(20_000), end_date: AT(23_000) },
    `created_at >= '${AT(20_000)}' and created_at < '${AT(23_000)}'`,
  ],
  [{ start_date: AT(23_000), end_date: AT(20_000) }, 'false'],
]

/** Statements that told where pages begin. */
const placed: Statement[] = []

/** @returns How many rows a page's statement reads, at most. */
async function check(when: string): Promise<number> {
  let most = 0
  for (const [query, where] of CASES) {
    const { rows } = await db.query<{ id: string }>(
      `select id from payments where account_id = $1 and ${where} order by id`,
      [account.id],
    )
    for (const order of ['asc', 'desc'] as const) {
      const ids = (order === 'asc' ? rows : rows.toReversed()).map(({ id }) => id)
      for (const page of new Set([
        1,
        Math.min(31, Math.ceil(ids.length / 100) || 1),
        Math.ceil(ids.length / 200) || 1,
        Math.ceil(ids.length / 100) || 1,
      ])) {
        let last: Statement | undefined
        const watching = watched(db, (...statement) => {
          if (statement[0].includes('order by p.id')) last = statement
          if (statement[0].includes(' untimely ')) placed.push(statement)
        })
        const what = `${when}: ${JSON.stringify(query)} ${order}, page ${page}`
        const asked = { ...query, sort: 'id', order, page, limit: 100 } as const
        for (const way of [impatient(db), watching]) {
          const shown = await listPayments(way, account.id, asked)
          assert.equal(shown.total, ids.length, what)
          assert.deepEqual(
            shown.items.map(({ id }) => id),
            ids.slice((page - 1) * 100, page * 100),
            what,
          )
        }
        most = Math.max(most, await rowsRead(db, last ?? assert.fail(what)))
      }
    }
  }
  return most
}

test('a part that is sorted by id is found by what ids tell of time', async () => {
  await forgetRanks(db, account.id)
  await check('nothing is counted')
  while (await rankPayments(db, account.id, SMALL)) {}
  const most = await check('all is counted')
  // Some slices of 200, and what some seconds have.
  assert.ok(most < 3_500, `${most} rows are read`)
  assert.ok(placed.length >= 10)
  // What twenty seconds have.
  for (const statement of placed) {
    const read = await rowsRead(db, statement)
    assert.ok(read < 400, `${read} rows are read to find where a page begins`)
  }
})

test('ids that tell no time, or another, are where they are', async () => {
  // As of a process whose clock is a quarter of an hour behind or ahead, or that makes ids of another kind.
  const ids = [
    idAt(`${MADE} - interval '15 minutes'`),
    idAt(`${MADE} + interval '15 minutes'`),
    'gen_random_uuid()',
    `('ffffffff' || left(md5(n::text), 24))::uuid`,
  ]
  for (const [index, id] of ids.entries()) await insert(`generate_series(${index}, ${COUNT - 1}, 4001) n`, id)
  const { rows } = await db.query<{ n: bigint }>(
    'select count(*) as n from payments where id_skew_ms(id, created_at) >= 10000',
  )
  assert.ok(Number(rows[0]?.n) >= 40)
  await forgetRanks(db, account.id)
  while (await rankPayments(db, account.id, SMALL)) {}
  await check('some were counted')
  for (const [index, id] of ids.entries())
    await insert(`generate_series(${COUNT + index * 10 + 1}, ${COUNT + index * 10 + 5}) n`, id, 'now()')
  await check('some are newer than what was counted')
})

test('an id is as far from its time as the places of a list take for granted', async () => {
  const { rows } = await db.query<{ skew: bigint }>(
    `select id_skew_ms((lpad(to_hex(1767225600000 + o), 12, '0') || '7' || repeat('f', 19))::uuid, timestamptz '2026-01-01Z') as skew
     from unnest(array[-10000, -9999, 0, 9999, 10000]) o`,
  )
  assert.deepEqual(
    rows.map(({ skew }) => skew),
    [10_000n, 9_999n, 0n, 9_999n, 10_000n],
  )
})
