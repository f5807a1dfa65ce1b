import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { rowsRead } from '../../../test/rows-read.ts'
import { impatient, type Statement, watched } from '../../../test/watched-database.ts'
import type { Queryable } from '../../db/database.ts'
import type { ListQuery } from '../../db/list-filters.ts'
import { rankNext } from '../../workers/rank-payments.ts'
import { listPayments, listPaymentsInFull } from '../list-payments.sql.ts'
import { findAccountToRank, forgetRanks, RUNG, rankPayments } from './payment-ranks.sql.ts'

const gateway = await testGateway({ prepares: false })
const { db } = gateway
const account = await testAccount(gateway)
const model = await testPayment(gateway, account, { customerEmail: 'ann@shop.example' })
const COUNT = 30_000
/** Small, so that there are many rungs, of which the grid has every second, and many turns. */
const SMALL = { rung: 300, countedAtOnce: 5_000, rungsMax: 60 }

/**
 * Few values of each column, so that there are many equals, also in time, and two states of a coin, for each pair is a grid of its
 * own; of two months that end now.
 */
await db.transaction(async (tx) => {
  await tx.query(
    `insert into payments
     select made.* from payments p, generate_series(2, $2::integer) n,
       jsonb_populate_record(p, jsonb_build_object('id', case when n % 3 = 0 then gen_random_uuid() else uuidv7() end,
       'created_at', now() - make_interval(hours => n * 7919 % 1440),
       'asset', (array['BTC','LTC','ETH','USDC','USDT'])[1 + n % 5],
       'status', (array['pending','expired','failed','expired','cancelled','expired'])[1 + n % 10 % 6],
       'net_minor', n * 13 % 7, 'fee_minor', p.fiat_minor - n * 13 % 7)) made
     where p.id = $1`,
    [model.id, COUNT],
  )
})
await db.query('analyze payments')

const DAY = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString()
/** Pages that many rows into a list are placed: as many have to be behind them, and some are newer than what is counted. */
const FAR = 21_500
const [FROM, TO, HOUR_AGO] = [DAY(55.3), DAY(7.6), DAY(1 / 24)]
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
  [{ sort: 'total', total_max: 0.04 }, 'net_minor <= 4'],
  [{ sort: 'total', total_min: 0.01, total_max: 0.05 }, 'net_minor between 1 and 5'],
  [
    { sort: 'total', total_min: 0.01, filter_asset: 'BTC', filter_asset_op: 'is_not' },
    `net_minor >= 1 and asset <> 'BTC'`,
  ],
  [{ sort: 'total', total_min: 0.03, total_max: 0.03 }, 'net_minor = 3'],
  [{ sort: 'total', total_min: 99 }, 'net_minor >= 9900'],
  [{ sort: 'created_at', total_min: 0.01, total_max: 0.04 }, 'net_minor between 1 and 4'],
  [{ sort: 'asset', start_date: FROM }, `created_at >= '${FROM}'`],
  [{ sort: 'created_at', total_min: 0.02 }, 'net_minor >= 2'],
  [
    { sort: 'created_at', total_max: 0.05, filter_status: 'pending', filter_status_op: 'is_not' },
    `net_minor <= 5 and status <> 'pending'`,
  ],
  [{ sort: 'status', total_min: 0.01 }, 'net_minor >= 1'],
  [
    { sort: 'asset', total_min: 0.01, total_max: 0.06, filter_asset: 'LTC', filter_asset_op: 'is_not' },
    `net_minor between 1 and 6 and asset <> 'LTC'`,
  ],
  [{ sort: 'status', end_date: TO }, `created_at < '${TO}'`],
  [{ sort: 'total', start_date: FROM }, `created_at >= '${FROM}'`],
  [
    { sort: 'total', start_date: FROM, end_date: TO, filter_asset: 'USDT', filter_asset_op: 'is_not' },
    `created_at >= '${FROM}' and created_at < '${TO}' and asset <> 'USDT'`,
  ],
  [{ sort: 'total', start_date: FROM, total_min: 0.01 }, `created_at >= '${FROM}' and net_minor >= 1`],
  [
    { sort: 'created_at', end_date: HOUR_AGO, total_min: 0.01, total_max: 0.06 },
    `created_at < '${HOUR_AGO}' and net_minor between 1 and 6`,
  ],
  [{ sort: 'status', start_date: FROM, total_max: 0.05 }, `created_at >= '${FROM}' and net_minor <= 5`],
  [{ sort: 'id', start_date: FROM, total_max: 0.05 }, `created_at >= '${FROM}' and net_minor <= 5`],
  [{ sort: 'total', start_date: TO, end_date: FROM, total_min: 0.02 }, 'false'],
  [{ sort: 'created_at', total_min: 0.04, total_max: 0.03 }, 'false'],
]

const RANGES = CASES.filter(
  ([query]) => query.start_date ?? query.end_date ?? query.total_min ?? query.total_max,
).slice(-9)

interface Row {
  readonly id: string
  /** Of the column that the list is sorted by. */
  readonly word: string
  /** By condition. */
  readonly isIn: readonly boolean[]
}

/** All payments in each order, ascending, with those of some conditions that hold for them. */
async function readLists(conditions: readonly string[]): Promise<Record<keyof typeof COLUMN, Row[]>> {
  const { rows: told } = await db.query<{ id: string; isIn: boolean[] }>(
    `select id, array[${conditions.join(', ')}] as "isIn" from payments where account_id = $1`,
    [account.id],
  )
  const isIn = new Map(told.map((row) => [row.id, row.isIn]))
  const sorted = async (column: string): Promise<Row[]> => {
    const { rows } = await db.query<{ id: string; word: string }>(
      `select id, ${column}::text as word from payments where account_id = $1 order by ${column}, created_at, id`,
      [account.id],
    )
    return rows.map(({ id, word }) => ({ id, word, isIn: isIn.get(id) ?? [] }))
  }
  return {
    id: await sorted(COLUMN.id),
    total: await sorted(COLUMN.total),
    asset: await sorted(COLUMN.asset),
    status: await sorted(COLUMN.status),
    created_at: await sorted(COLUMN.created_at),
  }
}

let checks = 0
/**
 * Pages and their totals are those of the plainest SQL, each list in one order, and in the other the next time; of each third list as
 * where every walk to one takes too long, of the next within a transaction, as of the API.
 */
async function check(when: string, cases = CASES): Promise<void> {
  checks++
  const lists = await readLists(cases.map(([, where]) => where))
  for (const [index, [query]] of cases.entries()) {
    const order = (index + checks) % 2 === 0 ? 'asc' : 'desc'
    const ascending = lists[query.sort].filter(({ isIn }) => isIn[index])
    const rows = order === 'asc' ? ascending : ascending.toReversed()
    const change = rows.findIndex(({ word }, at) => at > 10_000 && word !== rows[at - 1]?.word)
    for (const page of new Set([
      1,
      101,
      // With the last of a word and the first of the next.
      Math.floor(Math.max(0, change) / 100) + 1,
      Math.ceil(rows.length / 200) || 1,
      Math.ceil(rows.length / 100) || 1,
    ])) {
      const read = (asked: Queryable) =>
        listPayments(asked, account.id, { ...query, order, page, limit: 100 })
      const way = (index + checks) % 3
      const shown = await (way === 0 ? read(impatient(db)) : way === 1 ? db.transaction(read) : read(db))
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

/** What is kept is what one snapshot of the payments is. */
async function checkCounts(rung = SMALL.rung): Promise<void> {
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
  await checkGrid(rung)
}

/** Some cells of the grid are what one counts there, and every payment before the last mark is in it. */
async function checkGrid(rung: number): Promise<void> {
  const { rows } = await db.query<{
    cells: bigint
    wrong: bigint
    isAll: boolean
    slice: bigint
    rungs: number
    ofAccount: number
  }>(
    `with payments as materialized (select p.* from payments p where account_id = $1),
     newest as (select * from payment_grids where account_id = $1 order by generation desc limit 1)
     select count(*) as cells, max(cardinality(ids)) as rungs, max(g.rungs) as "ofAccount", count(*) filter (where upto <> n) as wrong,
       (select sum(c.upto[cardinality(ids)]) = (select count(*) from payments where created_at < marks[cardinality(marks)])
        from payment_grid_counts c join newest using (account_id, generation)
        where mark = cardinality(marks) group by marks, ids) as "isAll",
       (select max(n)::bigint from (select count(*) as n from payments, newest g
         where created_at < marks[cardinality(marks)] group by width_bucket(created_at, marks)) s) as slice
     from newest g
     cross join generate_series(1, cardinality(marks), 61) mark cross join generate_series(1, cardinality(ids), 29) rung
     cross join (select distinct asset, status from payments) word
     cross join lateral (select coalesce((select c.upto[rung] from payment_grid_counts c
       where c.account_id = $1 and c.generation = g.generation and c.mark = mark.mark and c.asset = word.asset and c.status = word.status), 0) as upto) told
     cross join lateral (select count(*) as n from payments p where p.asset = word.asset and p.status = word.status
       and p.created_at < marks[mark.mark] and (rung = cardinality(ids)
         or (p.net_minor, p.created_at, p.id) < (net_minors[rung + 1], created_ats[rung + 1], ids[rung + 1]))) counted`,
    [account.id],
  )
  const [{ cells, wrong, isAll, slice, rungs, ofAccount } = assert.fail()] = rows
  assert.ok(
    // The product's own rungs are one: a cell for each pair.
    cells >= (rung === RUNG ? 10n : 20n) && wrong === 0n && isAll,
    `${wrong} of ${cells} cells are wrong; all are counted: ${isAll}`,
  )
  assert.ok(rungs <= SMALL.rungsMax, `${rungs} rungs`)
  // As many as asked for, and those of one moment.
  const asked = (rung / 2) * Math.ceil(ofAccount / SMALL.rungsMax)
  assert.ok(Number(slice) < 1.2 * asked, `a slice of ${slice}`)
}

/** By the newest, whole or not. */
async function countedByGrid(): Promise<number> {
  const { rows } = await db.query<{ counted: number }>(
    `select coalesce(sum(upto[cardinality(upto)]), 0)::integer as counted
     from payment_grids g join payment_grid_counts c using (account_id, generation)
     where account_id = $1 and mark = cardinality(marks)
       and generation = (select max(generation) from payment_grids where account_id = $1)`,
    [account.id],
  )
  return rows[0]?.counted ?? 0
}

const change = (where: string, set: string) =>
  db.query(`update payments set ${set} where account_id = $1 and ${where}`, [account.id])

test('deep pages, and ranges, are those of the list as it is, whatever was counted of it', async () => {
  assert.equal(await findAccountToRank(db), account.id)
  await check('nothing is counted')
  let turns = 1
  let isPartly = false
  while (await rankPayments(db, account.id, SMALL)) {
    turns++
    if (isPartly || (await countedByGrid()) < FAR) continue
    isPartly = true
    await check('the first grid is not whole', RANGES)
  }
  assert.ok(turns >= 4 && isPartly, `${turns} turns`)
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

  const grids = async () =>
    (
      await db.query<{ rungs: number; isDue: boolean; isWhole: boolean }>(
        'select rungs, is_due as "isDue", is_whole as "isWhole" from payment_grids where account_id = $1 order by generation',
        [account.id],
      )
    ).rows
  const [{ rungs: had } = assert.fail()] = await grids()
  const fine = { ...SMALL, rung: SMALL.rung / 3 }
  let both = 0
  let isMore: boolean | null = true
  while (isMore) {
    await change(`id::text like '%${both}e'`, 'fee_minor = fee_minor + net_minor, net_minor = 0')
    isMore = await rankPayments(db, account.id, fine)
    const [first, second] = await grids()
    if (!second) continue
    both++
    if (await countedByGrid()) await checkGrid(fine.rung)
    assert.ok(first?.isWhole && second.isDue && !second.isWhole && isMore)
    assert.equal(await findAccountToRank(db), account.id, 'it is counted on')
    if (both <= 3) await check('while another grid is counted', RANGES)
  }
  assert.ok(both >= 3, `${both} turns`)
  const [grown = assert.fail(), ...others] = await grids()
  assert.ok(grown.rungs >= 2 * had && others.length === 0, 'its rungs were too large')
  await checkCounts()
  await check('another grid is counted')
})

/** So many rows a page's statement walks through before its first. */
function skippedBy([text, values]: Statement): number {
  const [, skip] = /offset \$(\d+)/.exec(text) ?? assert.fail(text)
  return Number(values[Number(skip) - 1])
}

test('deep pages of counted lists are not walked to', async () => {
  const asked: Statement[] = []
  const watching = watched(db, (...statement) => asked.push(statement))
  let placed = 0
  for (const [query] of CASES) {
    const { total } = await listPayments(db, account.id, query)
    const hasRange = query.start_date ?? query.end_date ?? query.total_min ?? query.total_max
    if (total < FAR || (hasRange !== undefined && query.sort === 'id')) continue
    // Of a part, what it was counted by says it too where a few rows would be walked through.
    for (const page of [
      ...(hasRange ? [31] : []),
      101,
      Math.ceil(total / 200),
      Math.ceil(total / 100) - 101,
    ]) {
      asked.length = 0
      await listPayments(watching, account.id, { ...query, page, limit: 100 })
      const skipped = skippedBy(asked.at(-1) ?? assert.fail())
      // A day of a word that is one in three, or a rung, among rows that match.
      assert.ok(skipped < 900, `${JSON.stringify(query)}, page ${page}: ${skipped} are skipped`)
      placed++
    }
  }
  assert.ok(placed >= 70, `${placed} pages`)
  const people = await listPaymentsInFull(db, account.id, { start_date: FROM })
  assert.ok(people.total > 10_000 && !people.isBounded, 'people are told exactly what is counted')
})

test('what stands together, far from both ends, is not walked to', async () => {
  // One in seven, as PostgreSQL knows, but not that they are all of one amount, or of some days.
  await change('net_minor = 3', `status = 'underpaid'`)
  const days = `created_at between now() - interval '34 days' and now() - interval '26 days'`
  await change(days, 'fee_minor = fee_minor + net_minor - 50, net_minor = 50')
  await db.query('analyze payments')
  const lists: [query: ListQuery, where: string, sorted: string][] = [
    [
      { sort: 'total', filter_status: 'underpaid', total_max: 0.49 },
      `status = 'underpaid' and net_minor <= 49`,
      'net_minor, created_at, id',
    ],
    [{ sort: 'id', total_min: 0.5 }, 'net_minor >= 50', 'id'],
    [
      { total_min: 0.5, filter_status: 'expired,failed' },
      `net_minor >= 50 and status in ('expired', 'failed')`,
      'created_at, id',
    ],
  ]
  for (const [list, where, sorted] of lists) {
    const { rows } = await db.query<{ id: string }>(
      `select id from payments where account_id = $1 and ${where} order by ${sorted}`,
      [account.id],
    )
    assert.ok(rows.length > 500)
    for (const order of ['asc', 'desc'] as const) {
      let last: Statement = ['', []]
      const watching = watched(db, (...statement) => {
        last = statement
      })
      const query = { ...list, order, limit: 5 }
      const shown = await listPayments(impatient(watching), account.id, query)
      const wanted = order === 'asc' ? rows : rows.toReversed()
      assert.deepEqual(
        shown.items.map(({ id }) => id),
        wanted.slice(0, 5).map(({ id }) => id),
        JSON.stringify(query),
      )
      assert.equal(shown.total, rows.length)
      const read = await rowsRead(db, last)
      // A rung's, or all of that amount.
      assert.ok(read < 5_000, `${JSON.stringify(query)}: ${read} of ${COUNT} are read\n${last[0]}`)
      // Where they stand together in two places, what is between those may take longer from either.
      assert.deepEqual(await listPayments(impatient(db, 40), account.id, query), shown)
    }
  }
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

test('a count that comes between two statements of a page does not shift it', async () => {
  /** @returns The last statement. */
  const between = async (marker: RegExp, count: () => Promise<unknown>, query: ListQuery) => {
    const expected = await listPayments(db, account.id, query)
    let isCounted = false
    let last: Statement = ['', []]
    const counting = watched(db, async (...statement) => {
      last = statement
      if (isCounted || !marker.test(statement[0])) return
      isCounted = true
      await count()
    })
    const shown = await listPayments(counting, account.id, query)
    assert.deepEqual(shown, expected, String(marker))
    assert.ok(isCounted, String(marker))
    return last
  }
  const again = (rung: number) => async () => {
    await forgetRanks(db, account.id)
    while (await rankPayments(db, account.id, { rung, rungsMax: SMALL.rungsMax })) {}
  }
  const turn = async () => {
    while (await rankPayments(db, account.id, SMALL)) {}
  }
  const ofAmounts: ListQuery = { total_min: 0.01, limit: 100, page: 115 }
  const ofDates: ListQuery = { sort: 'total', start_date: FROM, limit: 100, page: 140 }
  await again(500)()
  // Marks and rungs are those of another grid.
  await between(/ as version/, again(300), ofAmounts)
  await between(/ as version/, again(700), ofDates)
  // The total alone, of a first page.
  await between(/ as version/, again(300), { total_min: 0.01, limit: 100 })
  await between(/ as version/, again(700), { sort: 'total', start_date: FROM, limit: 100 })
  // What changed is among the counts, and was told besides.
  await change(`id::text like '%e'`, 'fee_minor = fee_minor + net_minor, net_minor = 0')
  await between(/ as version/, turn, { total_min: 0.01, limit: 100 })
  await change(`id::text like '%d'`, 'fee_minor = fee_minor + net_minor, net_minor = 0')
  const skipped = skippedBy(await between(/ as mark/, turn, ofAmounts))
  assert.ok(skipped < 900, `${skipped} are skipped`)
  // It was counted row by row.
  await forgetRanks(db, account.id)
  await between(/ as total/, again(500), ofAmounts)
})

test('counts that do not fit are made anew', async () => {
  await db.query(`update daily_payments set payments = 0 where account_id = $1`, [account.id])
  await change(`id::text like '%c'`, `status = 'failed'`)
  await db.query(
    `update payment_ranks set made_before = made_before - interval '2 hours' where account_id = $1`,
    [account.id],
  )
  assert.equal(await rankNext(gateway), true)
  await check('without counts')
  while (await rankNext(gateway)) {}
  await checkCounts(RUNG)
  await check('anew')
})

test('newer payments stand behind every rung of their amount, however it changed with time', async () => {
  // Another amount each day; the last one is in the middle of them.
  const amount = '(extract(epoch from now() - created_at)::bigint / 100_000 + 26) % 52 + 1'
  await change('true', `net_minor = ${amount}, fee_minor = fiat_minor - (${amount})`)
  const { rows } = await db.query<{ id: string }>(
    'select id from payments where account_id = $1 order by net_minor, created_at, id',
    [account.id],
  )
  for (const rung of [250, 220, 190]) {
    await forgetRanks(db, account.id)
    while (await rankPayments(db, account.id, { rung, rungsMax: SMALL.rungsMax })) {}
    for (let page = 146; page <= 162; page++) {
      const query: ListQuery = { sort: 'total', order: 'asc', total_min: 0.01, limit: 100, page }
      const shown = await listPayments(db, account.id, query)
      const wanted = rows.slice((page - 1) * 100, page * 100).map(({ id }) => id)
      assert.deepEqual(
        shown.items.map(({ id }) => id),
        wanted,
        `rungs of ${rung}, page ${page}`,
      )
    }
  }
  while (await rankPayments(db, account.id, SMALL)) {}
  await check('amounts follow the days')
})
