/**
 * POST /payments at sixteen connections of a Beck as it comes, while its forgetter removes a backlog of what is older than its
 * age, beside the same while it may not: how far their p99 moves, and whether the backlog shrinks while payments add to it.
 *
 *   node bench/cleaning-beside-payments.ts [rows of each kind] [--seconds=8] [--rounds=4]
 *
 * Two databases of one PostgreSQL hold the same: expired events, each with a delivery and an attempt, keys and logs, and some that
 * are to stay. Stretches take turns, each with a Beck of its own; on one of the databases the bench holds the turn to clean. Checked
 * before the verdict: nothing went there, and on the other the same of every table, nothing that was to stay, and every
 * answer is a payment. Bars: at most a fifth more, and for each payment that is made two and a half of each kind go: more than it leaves.
 */
import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { takeCleaningTurn } from '../src/flows/operation/cleaning-turn.sql.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'
import { startBeck } from './started-beck.ts'

const RATIO_MAX = 1.2
/** A payment leaves two events, or three when it is paid; none settles as many as it makes. */
const REMOVED_PER_PAYMENT_MIN = 2.5
const CONNECTIONS = 16
const WARM_SECONDS = 4
/** Of each kind, not old enough; and as many old events with a delivery that waits. */
const KEPT = 1_000
const BODY = JSON.stringify({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })

const option = (name: string, usual: number) =>
  Number(process.argv.find((given) => given.startsWith(`--${name}=`))?.slice(name.length + 3) ?? usual)
const ROWS = Number(process.argv.slice(2).find((given) => /^\d+$/.test(given)) ?? 1_000_000)
const SECONDS = option('seconds', 8)
const ROUNDS = option('rounds', 4)

const KINDS = ['events', 'deliveries', 'attempts', 'keys', 'requests'] as const
type Kind = (typeof KINDS)[number]
/** Where they are, when they were made, and from when on they are old. */
const TABLES: Readonly<Record<Kind, readonly [table: string, time: string, age: string]>> = {
  events: ['events', 'created_at', '30 days'],
  deliveries: ['deliveries', 'created_at', '30 days'],
  attempts: ['delivery_attempts', 'started_at', '30 days'],
  keys: ['idempotency_keys', 'created_at', '24 hours'],
  requests: ['api_requests', 'at', '7 days'],
}

/** Rows by their number, of an account, so old, each a millisecond younger than the one before. */
const FILL_EVENTS = `
  with made as materialized (
    select uuidv7(at - clock_timestamp()) as id, n, at
    from generate_series(1, $3::bigint) n, lateral (select now() - $4::interval + n * interval '1 millisecond' as at) t
  ), told as (
    insert into events (account_id, id, type, cause, body, created_at)
    select $1::uuid, id, 'payment.created', 'bench:' || $2 || n, '{"data":"' || repeat('x', 600) || '"}', at from made
  ), sent as (
    insert into deliveries (account_id, id, event_id, endpoint_id, status, attempts, due_at, created_at)
    select $1::uuid, id, id, (select id from webhook_endpoints), case when $2 = 'waits' then 'pending' else 'delivered' end, 1,
      case when $2 = 'waits' then now() + interval '1 day' end, at from made
  )
  insert into delivery_attempts (account_id, delivery_id, number, started_at, duration_ms, response_status, response_start)
  select $1::uuid, id, 1, at, 20, 200, 'ok' from made`
const FILL_KEYS = `
  insert into idempotency_keys (account_id, key, request_hash, response_status, response_body, created_at)
  select $1::uuid, $2 || md5(n::text), sha256('bench'), 201, convert_to(repeat('x', 600), 'UTF8'),
    now() - $4::interval + n * interval '1 millisecond' from generate_series(1, $3::bigint) n`
const FILL_REQUESTS = `
  insert into api_requests (account_id, id, at, key_id, request_id, method, path, status, duration_ms, address)
  select $1::uuid, uuidv7(at - clock_timestamp()), at, $1::uuid, 'req_' || $2 || n, 'POST', '/v1/payments', 201, 3, '203.0.113.7'
  from generate_series(1, $3::bigint) n, lateral (select now() - $4::interval + n * interval '1 millisecond' as at) t`

const NONE: Record<Kind, number> = { events: 0, deliveries: 0, attempts: 0, keys: 0, requests: 0 }

interface Side {
  readonly db: Database
  readonly env: NodeJS.ProcessEnv
  readonly p99s: number[]
  /** Old rows, before anything went. */
  filled: Record<Kind, number>
  answers: number
}

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg') })
const closers: (() => Promise<void>)[] = []
try {
  const { key, cleaned, idle } = await openSides()
  const removedPerPayment: number[] = []
  // The first round warms the caches of both.
  for (let round = 0; round <= ROUNDS; round++) {
    await stretch(idle, key)
    removedPerPayment.push(await stretch(cleaned, key))
  }
  await check(idle)
  assert.deepEqual(await countOld(idle.db), idle.filled, 'nothing went while the turn was held')
  await check(cleaned)
  const [alone, beside] = [idle.p99s.slice(1), cleaned.p99s.slice(1)]
  // Of each round, for the machine is another one minutes later.
  const ratio = median(beside.map((p99Ms, round) => p99Ms / (alone[round] ?? 0)))
  const removed = median(removedPerPayment.slice(1))
  const isMet = ratio <= RATIO_MAX && removed >= REMOVED_PER_PAYMENT_MIN
  process.stdout.write(
    `p99 of POST /payments at ${CONNECTIONS} connections: ${alone.join(', ')} ms alone, ${beside.join(', ')} ms beside cleaning\n` +
      `median ratio of the rounds ${ratio.toFixed(2)} (bar: at most ${RATIO_MAX}), ` +
      `${removed.toFixed(1)} of each kind gone per payment (bar: at least ${REMOVED_PER_PAYMENT_MIN}): ${isMet ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = isMet ? 0 : 1
} finally {
  for (const close of closers.reverse()) await close()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** A first start makes the account and its key; what it is filled with is copied, with Beck's folder. */
async function openSides(): Promise<{ key: string; cleaned: Side; idle: Side }> {
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  closers.push(() => admin.close())
  const sideOf = (name: string): Side => ({
    db: openDatabase({ url: cluster.url(name), connectionsMax: 2 }),
    env: {
      DATABASE_URL: cluster.url(name),
      BECK_DATA_DIR: join(folder, name),
      BECK_METRICS_PORT: '0',
    },
    p99s: [],
    filled: NONE,
    answers: 0,
  })
  await admin.query('create database cleaned')
  const first = sideOf('cleaned')
  const beck = await startBeck(first.env)
  await beck.stop()
  await fill(first.db)
  await first.db.close()
  await admin.query('create database idle template cleaned')
  await cp(join(folder, 'cleaned'), join(folder, 'idle'), { recursive: true })
  await admin.query('checkpoint')
  const [cleaned, idle] = [sideOf('cleaned'), sideOf('idle')]
  closers.push(
    () => cleaned.db.close(),
    () => idle.db.close(),
  )
  closers.push(await holdTurn(idle.db))
  for (const side of [cleaned, idle]) side.filled = await countOld(side.db)
  const all = ROWS + KEPT
  assert.deepEqual(cleaned.filled, {
    events: all,
    deliveries: all,
    attempts: all,
    keys: ROWS,
    requests: ROWS,
  })
  return { key: beck.key, cleaned, idle }
}

/** @returns What gives it back. */
async function holdTurn(db: Database): Promise<() => Promise<void>> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: taken, resolve: take } = Promise.withResolvers<void>()
  const holding = db.transaction(async (tx) => {
    // It waits for hours.
    await tx.query('set local idle_in_transaction_session_timeout = 0')
    assert.ok(await takeCleaningTurn(tx))
    take()
    await released
  })
  await Promise.race([taken, holding])
  return async () => {
    release()
    await holding
  }
}

/** @returns How many of each kind went for each payment that was made. */
async function stretch(side: Side, key: string): Promise<number> {
  const beck = await startBeck(side.env)
  try {
    const load = { url: new URL('/v1/payments', beck.url).href, key, body: BODY, connections: CONNECTIONS }
    side.answers += (await loadHttp({ ...load, seconds: WARM_SECONDS })).answers
    const before = await countOld(side.db)
    const { answers, p99Ms } = await loadHttp({ ...load, seconds: SECONDS })
    const after = await countOld(side.db)
    side.answers += answers
    side.p99s.push(p99Ms)
    const gone = KINDS.map((kind) => before[kind] - after[kind])
    process.stdout.write(
      `  ${answers} payments, p99 ${p99Ms} ms; gone: ${KINDS.map((kind, place) => `${gone[place]} ${kind}`).join(', ')}\n`,
    )
    return Math.min(...gone) / answers
  } finally {
    await beck.stop()
  }
}

/** Rows that are old, rows that are not, and old events with a delivery that waits. */
async function fill(db: Database): Promise<void> {
  const { rows } = await db.query<{ account_id: string }>('select account_id from api_keys')
  const accountId = rows[0]?.account_id
  await db.query(
    `insert into webhook_endpoints (account_id, id, url, events, secret_sealed)
     values ($1, uuidv7(), 'https://shop.example', '{payout.failed}', '')`,
    [accountId],
  )
  const old = [accountId, 'old', ROWS]
  const young = [accountId, 'young', KEPT]
  await db.transaction(async (tx) => {
    // What the rows name is there: looking for it takes longer than they do.
    await tx.query('set local session_replication_role = replica')
    await tx.query(FILL_EVENTS, [...old, '60 days'])
    await tx.query(FILL_EVENTS, [accountId, 'waits', KEPT, '61 days'])
    await tx.query(FILL_EVENTS, [...young, '1 day'])
    await tx.query(FILL_KEYS, [...old, '3 days'])
    await tx.query(FILL_KEYS, [...young, '6 hours'])
    await tx.query(FILL_REQUESTS, [...old, '20 days'])
    await tx.query(FILL_REQUESTS, [...young, '1 day'])
  })
  for (const kind of KINDS) await db.query(`vacuum (analyze) ${TABLES[kind][0]}`)
}

async function countOld(db: Database): Promise<Record<Kind, number>> {
  const counts = { ...NONE }
  for (const kind of KINDS) {
    const [table, time, age] = TABLES[kind]
    const { rows } = await db.query<{ rows: number }>(
      `select count(*)::int as rows from ${table} where ${time} < now() - interval '${age}'`,
    )
    counts[kind] = rows[0]?.rows ?? 0
  }
  return counts
}

/** What was to stay is there, what went with an event went with it, and every answer is a payment with its event. */
async function check({ db, answers }: Side): Promise<void> {
  const { events, deliveries, attempts } = await countOld(db)
  assert.deepEqual([deliveries, attempts], [events, events])
  const { rows } = await db.query<Record<string, number>>(
    `select (select count(*) from events where cause like 'bench:young%')::int as events,
       (select count(*) from events where cause like 'bench:waits%')::int as waiting,
       (select count(*) from deliveries where due_at is not null)::int as due,
       (select count(*) from deliveries where created_at > now() - interval '30 days')::int as deliveries,
       (select count(*) from delivery_attempts where started_at > now() - interval '30 days')::int as attempts,
       (select count(*) from idempotency_keys where key like 'young%')::int as keys,
       (select count(*) from api_requests where request_id like 'req_young%')::int as requests,
       (select count(*) from payments)::int as payments,
       (select count(*) from events where type = 'payment.created' and cause like 'payment:%')::int as told,
       (select sum(payments) from payment_counts)::int as counted`,
  )
  const { payments = 0, told, counted, ...kept } = rows[0] ?? {}
  assert.deepEqual([...new Set(Object.values(kept))], [KEPT], JSON.stringify(kept))
  assert.ok(answers > 0 && payments >= answers, 'every answer is a payment')
  assert.deepEqual([told, counted], [payments, payments])
}
