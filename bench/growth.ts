/**
 * A Beck as it comes (`beck start`, all roles) whose database holds ten million payments, as many addresses and a journal of
 * a hundred million rows (entries and transfers), beside one that holds a thousand payments, in turns on one PostgreSQL that
 * waits for its disk as it comes: POST /payments at 16 connections, with keys and without, and pages that both have.
 *
 *   node bench/growth.ts [payments] [--seconds=6] [--rounds=3]
 *
 * What was invented is counted, and compared with what the API answers, before anything is timed; what was created is checked
 * behind it, and that Beck found nothing wrong with its books. Bars: at most 1.3 times slower; within 50 ms those pages too
 * that only the large one has, in every order, for coins, states and ranges, and of events, withdrawals and deliveries. A part of
 * an email is looked for in all customers (docs/decisions/0013-lists.md): it is measured, and has no bar. Ten million take some 25
 * minutes and 45 GB of disk.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type AccountId, readId } from '../src/core/ids.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { benchFolder } from './folder.ts'
import { get, measureLists, measurePages, measureWalkedLists, ms, PAGE_SIZE, row } from './growth/pages.ts'
import type { Running, Side } from './growth/side.ts'
import { BULK_SETTINGS, fillLists, fillLogs, fillPayments, overTheYear } from './many-payments.ts'
import { fillAddresses, fillJournal, JOURNAL_ROWS_PER_PAYMENT } from './many-transfers.ts'
import { median } from './median.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const RATIO_MAX = 1.3
const PAGE_MS_MAX = 50
const FEW = 1_000
const OTHER_EVERY = 10
const CONNECTIONS = 16
const BODY = JSON.stringify({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })

const option = (name: string, usual: number) =>
  Number(process.argv.find((given) => given.startsWith(`--${name}=`))?.slice(name.length + 3) ?? usual)
const MANY = Number(process.argv.slice(2).find((given) => /^\d+$/.test(given)) ?? 10_000_000)
const SECONDS = option('seconds', 6)
const ROUNDS = option('rounds', 3)

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
  const slowest = await measureLists(many)
  const walked = await measureWalkedLists(many)
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
  const at = overTheYear(payments)
  await fillPayments(db, accountId, {
    payments,
    otherEvery: OTHER_EVERY,
    at,
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

/** It went on proving its books while it was measured, and nothing is frozen or to be looked at. */
async function checkBooks({ db, name }: Side): Promise<void> {
  const { rows } = await db.query<{ trouble: string }>(
    `select coalesce(string_agg(message, '; '), '') as trouble
     from (select message from alerts union all select reason from freezes) t`,
  )
  assert.equal(rows[0]?.trouble, '', `${name} has nothing to look at`)
}
