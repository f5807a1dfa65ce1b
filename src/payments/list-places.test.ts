import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import type { ListQuery } from '../db/list-filters.ts'
import { listPayments, listPaymentsInFull } from './list-payments.sql.ts'
import { findAccountToRank, rankPayments } from './payment-ranks.sql.ts'

const gateway = await testGateway()
const { db } = gateway
const account = await testAccount(gateway)
const model = await testPayment(gateway, account, { customerEmail: 'ann@shop.example' })
const COUNT = 24_500
/** Small, so that there are many rungs, and many turns. */
const SMALL = { rung: 300, countedAtOnce: 5_000 }

/** Few values of each column, so that there are many equals, also in time; of two months that end now. */
await db.transaction(async (tx) => {
  await tx.query(
    `insert into payments
     select (jsonb_populate_record(p, jsonb_build_object('id', case when n % 3 = 0 then gen_random_uuid() else uuidv7() end,
       'created_at', now() - make_interval(hours => n * 7919 % 1440),
       'asset', (array['BTC','LTC','ETH','USDC','USDT'])[1 + n % 5],
       'status', (array['pending','expired','failed','expired','cancelled','expired'])[1 + n * 31 % 6],
       'net_minor', 1 + n * 13 % 7 * (n % 2), 'fee_minor', p.fiat_minor - 1 - n * 13 % 7 * (n % 2)))).*
     from payments p, generate_series(2, $2::integer) n where p.id = $1`,
    [model.id, COUNT],
  )
})
await db.query('analyze payments')

const DAY = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString()
const [FROM, TO, HOUR_AGO] = [DAY(40.3), DAY(7.6), DAY(1 / 24)]
const COLUMN = { id: 'id', total: 'net_minor', asset: 'asset', status: 'status', created_at: 'created_at' }
const CASES: readonly [query: ListQuery & { sort: keyof typeof COLUMN }, where: string][] = [
  [{ sort: 'created_at' }, 'true'],
  [{ sort: 'total' }, 'true'],
  [{ sort: 'id' }, 'true'],
  [{ sort: 'asset' }, 'true'],
  [{ sort: 'status' }, 'true'],
  [{ sort: 'created_at', filter_asset: 'USDC', filter_asset_op: 'is_not' }, `asset <> 'USDC'`],
  [{ sort: 'total', filter_status: 'expired,failed,pending' }, `status in ('expired', 'failed', 'pending')`],
  [{ sort: 'id', filter_asset: 'BTC,LTC,ETH,USDT' }, `asset in ('BTC', 'LTC', 'ETH', 'USDT')`],
  [{ sort: 'status', filter_asset: 'ETH', filter_asset_op: 'is_not' }, `asset <> 'ETH'`],
  [
    { sort: 'status', filter_status: 'expired,cancelled,pending' },
    `status in ('expired', 'cancelled', 'pending')`,
  ],
  [{ sort: 'asset', filter_status: 'failed', filter_status_op: 'is_not' }, `status <> 'failed'`],
  [{ sort: 'created_at', start_date: FROM }, `created_at >= '${FROM}'`],
  [{ sort: 'created_at', end_date: TO }, `created_at < '${TO}'`],
  [
    { sort: 'created_at', start_date: FROM, end_date: HOUR_AGO },
    `created_at >= '${FROM}' and created_at < '${HOUR_AGO}'`,
  ],
  [{ sort: 'created_at', start_date: HOUR_AGO }, `created_at >= '${HOUR_AGO}'`],
  [{ sort: 'created_at', start_date: TO, end_date: FROM }, 'false'],
  [
    { sort: 'created_at', start_date: FROM, end_date: TO, filter_status: 'expired', filter_asset: 'LTC,ETH' },
    `created_at >= '${FROM}' and created_at < '${TO}' and status = 'expired' and asset in ('LTC', 'ETH')`,
  ],
  [{ sort: 'total', total_min: 0.02 }, 'net_minor >= 2'],
  [{ sort: 'total', total_max: 0.02 }, 'net_minor <= 2'],
  [{ sort: 'total', total_min: 0.01, total_max: 0.05 }, 'net_minor between 1 and 5'],
  [{ sort: 'total', total_min: 99 }, 'net_minor >= 9900'],
  [{ sort: 'created_at', total_min: 0.01, total_max: 0.04 }, 'net_minor between 1 and 4'],
  [{ sort: 'asset', start_date: FROM }, `created_at >= '${FROM}'`],
]

/** Pages of either order and their totals are those of the plainest SQL; deep ones are placed by counts, where those are told. */
async function check(when: string): Promise<void> {
  for (const [query, where] of CASES) {
    const column = COLUMN[query.sort]
    for (const order of ['asc', 'desc'] as const) {
      const { rows } = await db.query<{ id: string }>(
        `select id from payments where account_id = $1 and ${where}
         order by ${column} ${order}, created_at ${order}, id ${order}`,
        [account.id],
      )
      const middle = Math.ceil(rows.length / 200)
      for (const page of new Set([1, 101, 104, 117, middle, middle + 3, Math.ceil(rows.length / 100)])) {
        if (page < 1) continue
        const shown = await listPayments(db, account.id, { ...query, order, page, limit: 100 })
        const what = `${when}: ${JSON.stringify(query)} ${order}, page ${page}`
        assert.equal(shown.total, rows.length, what)
        assert.deepEqual(
          shown.items.map(({ id }) => id),
          rows.slice((page - 1) * 100, page * 100).map(({ id }) => id),
          what,
        )
      }
    }
  }
}

/** What is kept is what one snapshot of the payments is. */
async function checkCounts(): Promise<void> {
  const { rows } = await db.query<{ what: string }>(
    `with made as (select made_before from payment_ranks where account_id = $1),
     counted as (select p.* from payments p, made where p.account_id = $1 and p.created_at < made_before)
     select 'days' as what from (
       (select (created_at at time zone 'UTC')::date, asset, status, count(*) from counted group by 1, 2, 3
        except select day, asset, status, payments from daily_payments)
       union all (select day, asset, status, payments from daily_payments where payments > 0
        except select (created_at at time zone 'UTC')::date, asset, status, count(*) from counted group by 1, 2, 3)) d
     union all
     select sort from (select sort, asset, status, sum(payments) as n from payment_rungs group by 1, 2, 3) r
     full join (select s.sort, asset, status, count(*) as n from counted, (values ('total'), ('id')) s (sort) group by 1, 2, 3) c
       using (sort, asset, status)
     where coalesce(r.n, 0) <> coalesce(c.n, 0)`,
    [account.id],
  )
  assert.deepEqual(rows, [])
}

const change = (where: string, set: string) =>
  db.query(`update payments set ${set} where account_id = $1 and ${where}`, [account.id])

test('deep pages, and ranges, are those of the list as it is, whatever was counted of it', async () => {
  assert.equal(await findAccountToRank(db), account.id)
  await check('nothing is counted')
  let turns = 1
  while (await rankPayments(db, account.id, SMALL)) turns++
  assert.ok(turns >= 4, `${turns} turns`)
  await checkCounts()
  assert.equal(await findAccountToRank(db), null, 'it was counted just now')
  const { rows } = await db.query<{ sort: string; rungs: bigint; largest: bigint }>(
    `select sort, count(*) as rungs, max(payments)::bigint as largest
     from (select sort, sum(payments) as payments from payment_rungs group by sort, net_minor, created_at, id) r group by sort`,
  )
  assert.equal(rows.length, 2)
  for (const { rungs, largest, sort } of rows)
    assert.ok(rungs >= COUNT / 600 && largest < 600n, `${rungs} rungs by ${sort}, the largest of ${largest}`)
  await check('all is counted')

  await change(`id::text like '%7'`, `status = case status when 'expired' then 'failed' else 'expired' end`)
  await change(`id::text like '%a'`, 'net_minor = net_minor + 1, fee_minor = fee_minor - 1')
  await change(`id::text like '%7' and asset = 'LTC'`, `status = 'cancelled'`)
  await change(`id::text like '%b'`, 'net_minor = net_minor, status = status')
  await check('some changed since')
  while (await rankPayments(db, account.id, SMALL)) {}
  await checkCounts()
  const { rows: left } = await db.query(
    'select from payment_changes where created_at < now() - $1::interval',
    ['3 hours'],
  )
  assert.equal(left.length, 0)
  await check('what changed is counted')
})

test('deep pages of counted lists are not walked to', async () => {
  const asked: string[] = []
  const watched: typeof db = {
    ...db,
    query: (text, values, hot) => {
      asked.push(text)
      return db.query(text, values, hot)
    },
  }
  for (const [query] of CASES.slice(0, 11)) {
    asked.length = 0
    await listPayments(watched, account.id, { ...query, page: 101, limit: 100 })
    const isFar = (await listPayments(db, account.id, query)).total >= 20_100
    const text = asked.at(-1) ?? ''
    const [, skip] = /offset \$(\d+)/.exec(text) ?? []
    assert.ok(skip, JSON.stringify(query))
    assert.equal(
      asked.some((each) => each.includes('payment_ranks')),
      isFar,
      JSON.stringify(query),
    )
  }
  const people = await listPaymentsInFull(db, account.id, { start_date: FROM })
  assert.ok(people.total > 10_000 && !people.isBounded, 'people are told exactly what is counted')
})

test('a change that is under way while payments are counted is not lost, nor counted twice', async () => {
  const { rows } = await db.query<{ id: string }>(
    `select id from payments where account_id = $1 and status = 'expired' and created_at < now() - interval '10 days' limit 40`,
    [account.id],
  )
  const changed = rows.map(({ id }) => id)
  await db.transaction(async (tx) => {
    await tx.query(
      `update payments set status = 'failed', net_minor = net_minor + 2, fee_minor = fee_minor - 2 where id = any($1)`,
      [changed.slice(0, 20)],
    )
    await rankPayments(db, account.id, SMALL)
    await tx.query(
      `update payments set status = 'failed', net_minor = net_minor + 2, fee_minor = fee_minor - 2 where id = any($1)`,
      [changed.slice(20)],
    )
  })
  await check('one changed while another counted')
  await Promise.all([rankPayments(db, account.id, SMALL), rankPayments(db, account.id, SMALL)])
  await checkCounts()
  await check('two counted at once')
})
