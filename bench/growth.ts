/**
 * A Beck as it comes (`beck start`, all roles) whose database holds ten million payments, as many addresses and a journal of
 * a hundred million rows (entries and transfers), beside one that holds a thousand payments, in turns on one PostgreSQL that
 * waits for its disk as it comes: POST /payments at 16 connections, with keys and without, and pages that both have.
 *
 *   node bench/growth.ts [payments] [--seconds=6] [--rounds=3]
 *
 * What was invented is counted, and compared with what the API answers, before anything is timed; what was created is checked
 * behind it, and that Beck found nothing wrong with its books. Bars: at most 1.3 times slower; within 50 ms those pages too
 * that only the large one has, in every order, for coins, states and ranges, and of events, withdrawals and deliveries. A part of an email is looked for in
 * all customers (docs/decisions/0013-lists.md): it is measured, and has no bar. Ten million take some 25 minutes and 45 GB of disk.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type AccountId, type EventId, readId, showId } from '../src/core/ids.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { listWithdrawals } from '../src/withdrawals/list-withdrawals.sql.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { benchFolder } from './folder.ts'
import { BULK_SETTINGS, fillLists, fillLogs, fillPayments } from './many-payments.ts'
import { fillAddresses, fillJournal, JOURNAL_ROWS_PER_PAYMENT } from './many-transfers.ts'
import { median } from './median.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const RATIO_MAX = 1.3
const PAGE_MS_MAX = 50
const FEW = 1_000
const OTHER_EVERY = 10
const YEAR_S = 365 * 24 * 3_600
const CONNECTIONS = 16
const BODY = JSON.stringify({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })
/** Each page is asked for so often of either, in turns; the median counts. */
const TIMES = 101
const PAGE_SIZE = 25

const option = (name: string, usual: number) =>
  Number(process.argv.find((given) => given.startsWith(`--${name}=`))?.slice(name.length + 3) ?? usual)
const MANY = Number(process.argv.slice(2).find((given) => /^\d+$/.test(given)) ?? 10_000_000)
const SECONDS = option('seconds', 6)
const ROUNDS = option('rounds', 3)

/** Of either size: how it is called, and where it is. */
const PAGES = [
  ['payments', '/payments'],
  ['payments of one status', '/payments?filter_status=pending'],
  ['payments of one coin', '/payments?filter_asset=ETH'],
  ['payments by amount', '/payments?sort=total'],
  ['customers', '/customers'],
  ['customers by orders', '/customers?sort=order_count'],
  ['events', '/events'],
  ['balance', '/balance'],
  ['withdrawals', '/withdrawals'],
] as const

const TEN_DAYS_AGO = new Date(Date.now() - 10 * 24 * 3_600_000).toISOString()
const HALF_A_YEAR_AGO = new Date(Date.now() - (YEAR_S / 2) * 1_000).toISOString()
/** Lists that are read far inside too, with how they are asked for. */
const LISTS = [
  ['payments', '/payments?'],
  ['payments by amount', '/payments?sort=total&'],
  ['payments by id', '/payments?sort=id&order=asc&'],
  ['payments by coin', '/payments?sort=asset&'],
  ['payments by status', '/payments?sort=status&order=asc&'],
  ['payments of one coin', '/payments?filter_asset=ETH&'],
  ['payments of one status', '/payments?filter_status=completed&'],
  ['payments but one coin, by status', '/payments?sort=status&filter_asset=ETH&filter_asset_op=is_not&'],
  ['payments of half a year', `/payments?start_date=${HALF_A_YEAR_AGO}&`],
  ['payments of 100 to 700, by amount', '/payments?sort=total&total_min=100&total_max=700&'],
  ['payments of 100 and more', '/payments?total_min=100&'],
  ['completed payments of 100 to 700', '/payments?total_min=100&total_max=700&filter_status=completed&'],
  ['payments of 100 and more, by status', '/payments?sort=status&order=asc&total_min=100&'],
  ['payments of half a year, by amount', `/payments?sort=total&start_date=${HALF_A_YEAR_AGO}&`],
  [
    'payments of half a year, of 100 to 700, by amount',
    `/payments?sort=total&start_date=${HALF_A_YEAR_AGO}&total_min=100&total_max=700&`,
  ],
  ['payments of half a year, by id', `/payments?sort=id&start_date=${HALF_A_YEAR_AGO}&`],
  ['payments of 100 to 700, by id', '/payments?sort=id&order=asc&total_min=100&total_max=700&'],
  // Of half a percent that was made one behind the other, and of nothing else.
  ['failed payments, by amount', '/payments?sort=total&order=asc&filter_status=failed&'],
  ['payments of 50,000 and more', '/payments?total_min=50000&'],
  ['payments of 50,000 and more, by id', '/payments?sort=id&total_min=50000&'],
  ['customers', '/customers?'],
  ['customers by orders', '/customers?sort=order_count&'],
  ['customers by email', '/customers?sort=email&'],
] as const
const DELIVERIES = [
  ['deliveries', ''],
  ['deliveries that failed', 'filter_status=failed&'],
  ['deliveries that were cancelled', 'filter_status=cancelled&'],
  ['deliveries, oldest first', 'sort=created_at&order=asc&'],
  ['deliveries of ten days', `start_date=${TEN_DAYS_AGO}&`],
] as const
/** As the dashboard asks for them: the API shows the newest hundred. */
const WITHDRAWALS = [
  {},
  { filter_status: 'failed' },
  { filter_asset: 'ETH' },
  { filter_kind: 'payout' },
  { filter_kind: 'refund' },
  { filter_to: 'tltc1q7' },
  { order: 'asc' },
] as const
const WALKED_LISTS = [['customers, part of an email', '/customers?filter_email=buyer&']] as const

/** One Beck, its database, and what it has. */
interface Side {
  readonly name: string
  readonly db: Database
  readonly payments: number
  readonly accountId: AccountId
  readonly key: string
  /** Of webhooks; it hears of nothing that happens here. */
  readonly endpointId: string
  readonly env: NodeJS.ProcessEnv
}
interface Running extends Side {
  readonly beck: StartedBeck
  /** What the API answered that it made. */
  made: number
}

const begun = performance.now()
const folder = await benchFolder()
const dataDir = join(folder, 'pg')
const FILLING = [...BULK_SETTINGS, 'max_wal_size=4GB', 'wal_level=minimal', 'max_wal_senders=0']
/** What is given to a database of this size, and nothing else. */
const MEASURED = ['shared_buffers=1GB']
let cluster = await startCluster({ dataDir, settings: FILLING })
const closers: (() => Promise<void>)[] = []
try {
  const opened = [await open('few', FEW), await open('many', MANY)] as const
  for (const side of opened) await fill(side)
  for (const { db } of opened) await db.close()
  await cluster.stop()
  cluster = await startCluster({ dataDir, settings: MEASURED })
  const sides = [await start(opened[0]), await start(opened[1])] as const
  for (const side of sides) await checkFilled(side)
  const road = [await measureRoad(sides, { isKeyed: false }), await measureRoad(sides, { isKeyed: true })]
  for (const side of sides) await checkMade(side)
  const ratios = [...road, ...(await measurePages(sides))]
  const many = sides[1]
  const deliveries = DELIVERIES.map(
    ([name, query]) => [name, `/webhooks/${many.endpointId}/deliveries?${query}`] as const,
  )
  const slowest = Math.max(
    await measureDeepPages(many, [...LISTS, ...deliveries], 5),
    await measureEvents(many),
    await measureWithdrawals(many),
  )
  const walked = await measureDeepPages(many, WALKED_LISTS, 3)
  for (const side of sides) await checkBooks(side)
  const worst = Math.max(...ratios)
  const good = worst <= RATIO_MAX && slowest <= PAGE_MS_MAX
  process.stdout.write(
    `${MANY} payments: at most ${worst.toFixed(2)} times slower than ${FEW} (bar: ${RATIO_MAX}), any page within ` +
      `${ms(slowest)} (at most ${PAGE_MS_MAX}), of a part of an email within ${ms(walked)} (no bar): ` +
      `${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
} finally {
  for (const close of closers.reverse()) await close()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** A first start makes tables, account, key and wallets; nobody runs while it is filled. */
async function open(name: string, payments: number): Promise<Side> {
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  await admin.query(`create database ${name}`)
  await admin.close()
  const env = {
    DATABASE_URL: cluster.url(name),
    BECK_DATA_DIR: join(folder, name),
    BECK_METRICS_PORT: '0',
    BECK_WEBHOOK_ALLOW_PRIVATE: '1',
  }
  const beck = await startBeck(env)
  const endpointId = await makeEndpoint(beck)
  await beck.stop()
  const db = openDatabase({ url: cluster.url(name), connectionsMax: 2 })
  const { rows } = await db.query<{ account_id: AccountId }>('select account_id from api_keys')
  const accountId = rows[0]?.account_id
  assert.ok(accountId, 'the first start made an account with a key')
  return { name, db, payments, accountId, key: beck.key, endpointId, env }
}

async function makeEndpoint({ url, key }: StartedBeck): Promise<string> {
  const answer = await fetch(`${url}/webhooks`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'http://127.0.0.1:9/hook', events: ['payment.completed'] }),
  })
  assert.equal(answer.status, 201)
  return ((await answer.json()) as { data: { id: string } }).data.id
}

async function fill({ name, db, payments, accountId, endpointId }: Side): Promise<void> {
  const at = `now() - make_interval(secs => (${payments} - n) * ${YEAR_S / payments}::float8)`
  await fillPayments(db, accountId, {
    payments,
    otherEvery: OTHER_EVERY,
    at,
    isSold: true,
    customers: Math.max(PAGE_SIZE, Math.floor(payments / 30)),
    isUneven: true,
  })
  await tell(db, `${name}: payments`)
  await fillAddresses(db)
  await tell(db, `${name}: addresses`)
  const { rows } = await db.query<{ id: AccountId }>('select distinct account_id as id from payments')
  const otherId = rows.find(({ id }) => id !== accountId)?.id
  assert.ok(otherId)
  await fillJournal(db, { payments, otherEvery: OTHER_EVERY, at, accountId, otherId }, (booked) =>
    tell(db, `${name}: the journal of ${booked} payments`),
  )
  const logged = Math.max(PAGE_SIZE, Math.floor(payments / 10))
  await fillLogs(db, accountId, logged)
  const endpointRow = readId('whk', endpointId)
  assert.ok(endpointRow)
  await fillLists(db, accountId, endpointRow, logged)
  for (const table of ['events', 'api_requests', 'deliveries', 'withdrawals', 'idempotency_keys'])
    await db.query(`vacuum (analyze) ${table}`)
  await db.query('checkpoint')
  await tell(db, `${name}: filled`)
}

async function tell(db: Database, what: string): Promise<void> {
  const { rows } = await db.query<{ size: bigint }>('select pg_database_size(current_database()) as size')
  process.stdout.write(
    `${((performance.now() - begun) / 1_000).toFixed(0).padStart(6)} s ${(Number(rows[0]?.size) / 1e9).toFixed(1).padStart(6)} GB  ${what}\n`,
  )
}

/** On the PostgreSQL that is measured, which listens elsewhere. */
async function start(side: Side): Promise<Running> {
  const url = cluster.url(side.name)
  const db = openDatabase({ url, connectionsMax: 2 })
  closers.push(() => db.close())
  const beck = await startBeck({ ...side.env, DATABASE_URL: url })
  closers.push(() => beck.stop())
  return { ...side, db, beck, made: 0 }
}

/** There is what was asked for, its books come to nothing, and the API counts the same. */
async function checkFilled(side: Running): Promise<void> {
  const { db, payments, accountId } = side
  const { rows } = await db.query<Record<string, bigint>>(
    `select (select count(*) from payments) as payments,
       (select count(*) from addresses where series = 'bench' and issued_at is not null) as addresses,
       (select count(*) from journal_entries) + (select count(*) from transfers) as journal,
       (select coalesce(sum(case when debit = 'wallet' then amount_atoms else -amount_atoms end), 0) from transfers
        where debit = 'wallet' or credit = 'wallet') as wallet,
       (select count(*) from payments where account_id = $1) as own`,
    [accountId],
  )
  const { own, ...filled } = rows[0] ?? {}
  const expected = { payments, addresses: payments, journal: JOURNAL_ROWS_PER_PAYMENT * payments, wallet: 0 }
  assert.deepEqual(
    Object.fromEntries(Object.entries(filled).map(([name, count]) => [name, Number(count)])),
    expected,
  )
  const page = await get(side, '/payments')
  assert.equal(page.data.total, Number(own))
  assert.equal(page.data.items?.length, PAGE_SIZE)
  await tell(db, `${side.name}: checked`)
}

interface Answer {
  readonly ms: number
  readonly data: { readonly total?: number; readonly items?: readonly { readonly id: string }[] }
}

async function get({ beck, key }: Running, path: string): Promise<Answer> {
  const asked = performance.now()
  const answer = await fetch(`${beck.url}${path}`, { headers: { 'x-api-key': key } })
  const { data } = (await answer.json()) as Pick<Answer, 'data'>
  // A read has ten seconds. What takes longer meets no bar.
  if (answer.status === 503) return { ms: Number.POSITIVE_INFINITY, data: {} }
  assert.equal(answer.status, 200, path)
  return { ms: performance.now() - asked, data }
}

/** @returns How many times slower the large one takes payments: the median of rounds, of which each measures both. */
async function measureRoad(
  sides: readonly [Running, Running],
  { isKeyed }: { isKeyed: boolean },
): Promise<number> {
  const rates: number[][] = sides.map(() => [])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, side] of sides.entries()) {
      const { beck, key, name } = side
      const url = `${beck.url}/payments`
      const load = { url, key, body: BODY, connections: CONNECTIONS, seconds: SECONDS, isKeyed }
      const { perSecond, p50Ms, answers } = await loadHttp(load)
      side.made += answers
      // The first round warms both up.
      if (round > 0) rates[index]?.push(perSecond)
      process.stdout.write(
        `  ${name}: ${perSecond.toFixed(0)}/s, p50 ${p50Ms} ms${round === 0 ? ' (to warm up)' : ''}\n`,
      )
    }
  }
  const [fewer = [], more = []] = rates
  const ratio = median(fewer.map((perSecond, round) => perSecond / (more[round] ?? 0)))
  const shown = [fewer, more].map((each) => `${median(each).toFixed(0)}/s`)
  process.stdout.write(row(`POST /payments, 16 at once${isKeyed ? ', with keys' : ''}`, shown, ratio))
  return ratio
}

/** Every answer is a payment with an address that was issued for it, an event, and its place in the count. */
async function checkMade({ db, payments, made: answers }: Running): Promise<void> {
  const { rows } = await db.query<Record<string, bigint>>(
    `with made as (select account_id, id, address from payments where status = 'pending')
     select count(*) as made, count(distinct made.address) as addresses, count(a.payment_id) as issued,
       count(e.id) as events, (select sum(payments) from payment_counts) as counted
     from made
     left join addresses a on a.account_id = made.account_id and a.payment_id = made.id and a.address = made.address
     left join events e on e.account_id = made.account_id and e.cause = 'payment:' || made.id || ':created'`,
  )
  const { made, addresses, issued, events, counted } = rows[0] ?? {}
  assert.ok(Number(made) >= answers && answers > 0, 'every answer is a payment')
  assert.deepEqual([addresses, issued, events], [made, made, made])
  assert.equal(counted, BigInt(payments) + (made ?? 0n))
}

/** @returns How many times slower each page is. */
async function measurePages(sides: readonly [Running, Running]): Promise<number[]> {
  const ratios: number[] = []
  const newest = async (side: Running) => `/payments/${(await get(side, '/payments')).data.items?.[0]?.id}`
  const one = await Promise.all(sides.map(newest))
  const pages = [
    ...PAGES.map(([name, path]) => [name, path, path] as const),
    ['one payment', ...one] as const,
  ]
  for (const [name, ...paths] of pages) {
    const times: number[][] = sides.map(() => [])
    for (let time = 0; time < TIMES; time++)
      for (const [index, side] of sides.entries())
        times[index]?.push((await get(side, paths[index] ?? '')).ms)
    const [fewer = 0, more = 0] = times.map(median)
    ratios.push(more / fewer)
    process.stdout.write(row(`GET ${name}`, [ms(fewer), ms(more)], more / fewer))
  }
  return ratios
}

/** @returns The slowest of the pages deep inside of the lists, by its median. */
async function measureDeepPages(
  side: Running,
  lists: readonly (readonly [name: string, path: string])[],
  tries: number,
): Promise<number> {
  let slowest = 0
  for (const [name, path] of lists) {
    const { total = 0 } = (await get(side, path)).data
    const last = Math.ceil(total / PAGE_SIZE)
    assert.ok(last > 0, `${name} has pages`)
    const pages = [1, Math.min(100, last), Math.ceil(last / 3), Math.ceil(last / 2), last - 1, last]
    for (const page of new Set(pages.filter((each) => each > 0))) {
      const items = Math.min(PAGE_SIZE, total - (page - 1) * PAGE_SIZE)
      const usual = await medianOf(side, `${path}page=${page}`, items, tries)
      slowest = Math.max(slowest, usual)
      process.stdout.write(row(`GET ${name}, page ${page} of ${last}`, ['', ms(usual)]))
    }
  }
  return slowest
}

/** @returns The slowest of the pages of events behind the first, which go on from an event's id, by its median. */
async function measureEvents(side: Running): Promise<number> {
  const { rows } = await side.db.query<{ part: string; id: EventId }>(
    `select part, (select id from events where account_id = $1 order by created_at, id
       limit 1 offset (select count(*) from events where account_id = $1) * part / 100) as id
     from unnest(array[1, 33, 50, 80]) part`,
    [side.accountId],
  )
  let slowest = 0
  for (const { part, id } of rows) {
    const path = `/events?limit=${PAGE_SIZE}&after=${showId('evt', id)}`
    const usual = await medianOf(side, path, PAGE_SIZE, 9)
    slowest = Math.max(slowest, usual)
    process.stdout.write(row(`GET events, behind ${part} % of them`, ['', ms(usual)]))
  }
  return slowest
}

/** @returns The slowest of the pages of withdrawals in the dashboard, by its median. */
async function measureWithdrawals({ db, accountId }: Side): Promise<number> {
  let slowest = 0
  for (const query of WITHDRAWALS) {
    const { total, totalPages: last } = await listWithdrawals(db, accountId, query)
    assert.ok(total > 0)
    for (const page of new Set([1, Math.ceil(last / 2), last])) {
      const times: number[] = []
      for (let time = 0; time < 5; time++) {
        const asked = performance.now()
        const { items } = await listWithdrawals(db, accountId, { ...query, page })
        times.push(performance.now() - asked)
        assert.ok(items.length > 0)
      }
      const usual = median(times)
      slowest = Math.max(slowest, usual)
      process.stdout.write(
        row(`withdrawals ${Object.values(query)}, page ${page} of ${last}`, ['', ms(usual)]),
      )
    }
  }
  return slowest
}

/** @param items - So many are on the page. @returns Milliseconds. */
async function medianOf(side: Running, path: string, items: number, tries: number): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < tries; time++) {
    const answer = await get(side, path)
    if (Number.isFinite(answer.ms)) assert.equal(answer.data.items?.length, items, path)
    times.push(answer.ms)
  }
  return median(times)
}

/** It went on proving its books while it was measured, and nothing is frozen or to be looked at. */
async function checkBooks({ db, name }: Side): Promise<void> {
  const { rows } = await db.query<{ trouble: string }>(
    `select coalesce(string_agg(message, '; '), '') as trouble
     from (select message from alerts union all select reason from freezes) t`,
  )
  assert.equal(rows[0]?.trouble, '', `${name} has nothing to look at`)
}

function ms(duration: number): string {
  return `${duration.toFixed(1)} ms`
}

function row(name: string, cells: readonly string[], ratio?: number): string {
  return `${name.padEnd(40)}${cells.map((cell) => cell.padStart(12)).join('')}${ratio === undefined ? '' : ratio.toFixed(2).padStart(8)}\n`
}
