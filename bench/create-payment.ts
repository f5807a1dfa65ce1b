/**
 * POST /payments of a Beck as it comes (`beck start`, all roles, addresses derived meanwhile) against the least SQL that
 * could do it: a key looked up, an idempotency row, a payment with four indexes, an outbox row, in one transaction,
 * written here without Beck's statements or its schema, run by as many connections on the same PostgreSQL.
 *
 *   node bench/create-payment.ts [seconds per round] [--rounds=3] [--keyed] [--connections=16] [--asset=LTC] [--listening=EVENT]
 *
 * `--listening=payment.completed` has one webhook endpoint wait meanwhile, `--listening=payment.created` one that each payment
 * is sent to. What is still to be sent is over before the other's turn.
 *
 * The two take turns, so that whatever else this machine does falls on both. What was created is checked before anything
 * is printed. `300 --rounds=1` is the five minutes that it is to be sustained. Bar: design, section 11.
 */
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { pause } from '../src/core/pause.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3)
const ROUNDS = Number(option('rounds') ?? 3)
const isKeyed = process.argv.includes('--keyed')
const CONNECTIONS = Number(option('connections') ?? 16)
/** Of one after the other, only how long each takes. */
const RATIO_MIN = CONNECTIONS === 1 ? 0 : isKeyed ? 0.3 : 0.35
const P50_MS_MAX = CONNECTIONS === 1 ? 4 : 15
const listening = option('listening')
const seconds = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 6)
/** It does not grow tired. */
const LEAST_SECONDS_MAX = 30
const WARM_SECONDS_MAX = 10
const BODY = JSON.stringify({ asset: option('asset') ?? 'LTC', fiat_amount: 49.99, reference: 'order-1001' })

const LEAST_SCHEMA = `
  create table api_keys (hash bytea primary key, merchant_id int, scopes text[]);
  insert into api_keys select sha256(g::text::bytea), g, '{payments:write}' from generate_series(1, 1000) g;
  create table idem (merchant_id int, key text, req_hash bytea, primary key (merchant_id, key));
  create table payments (id uuid primary key, merchant_id int not null, status smallint not null, asset smallint not null,
    fiat_amount numeric(14,2) not null, net_fiat numeric(14,2) not null, fiat_currency char(3) not null, reference text,
    customer_id int, address text not null, expected_atoms numeric(38,0) not null, created_at timestamptz not null,
    metadata jsonb);
  create index on payments (merchant_id, created_at desc, id desc);
  create index on payments (merchant_id, status, created_at desc);
  create index on payments (address);
  create table outbox (id bigint generated always as identity primary key, type text, payload jsonb);`

const folder = await mkdtemp(join(tmpdir(), 'beck-bench-'))
const cluster = await startCluster({ dataDir: join(folder, 'pg') })
let beck: StartedBeck | null = null
const receiver = createServer((request, response) => request.resume().on('end', () => response.end('ok')))
const least = new pg.Pool({ connectionString: cluster.url('least'), max: CONNECTIONS })
// When its server stops, whatever is left idle breaks.
least.on('error', () => {})
try {
  const admin = new pg.Client({ connectionString: cluster.url('postgres') })
  await admin.connect()
  await admin.query('create database beck')
  await admin.query('create database least')
  await admin.end()
  await least.query(LEAST_SCHEMA)
  beck = await startBeck({
    DATABASE_URL: cluster.url('beck'),
    BECK_DATA_DIR: join(folder, 'beck'),
    BECK_WEBHOOK_ALLOW_PRIVATE: '1',
  })
  if (listening) await listen(beck, listening)
  const load = {
    url: new URL('/v1/payments', beck.url).href,
    key: beck.key,
    body: BODY,
    connections: CONNECTIONS,
    seconds,
    isKeyed,
  }
  const best = { http: 0, sql: 0, p50Ms: Number.POSITIVE_INFINITY }
  let made = 0
  for (let round = 0; round <= ROUNDS; round++) {
    // The first round warms both up.
    const http = await loadHttp(
      round === 0 ? { ...load, seconds: Math.min(seconds, WARM_SECONDS_MAX) } : load,
    )
    if (listening) await untilToldOf(cluster.url('beck'))
    const sql = await loadLeast()
    made += http.answers
    if (round === 0) continue
    best.http = Math.max(best.http, http.perSecond)
    best.sql = Math.max(best.sql, sql)
    best.p50Ms = Math.min(best.p50Ms, http.p50Ms)
  }
  await check(cluster.url('beck'), made)
  const ratio = best.http / best.sql
  const good = ratio >= RATIO_MIN && best.p50Ms <= P50_MS_MAX
  process.stdout.write(
    `POST /payments${isKeyed ? ' with keys' : ''}, ${CONNECTIONS} at once: ${best.http.toFixed(0)}/s, p50 ${best.p50Ms} ms; the least SQL ${best.sql.toFixed(0)}/s\n` +
      `ratio ${ratio.toFixed(2)} (bar: at least ${RATIO_MIN}), p50 at most ${P50_MS_MAX} ms: ${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
} finally {
  await beck?.stop()
  receiver.close()
  await least.end()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function listen({ url, key }: StartedBeck, event: string): Promise<void> {
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  const { port } = receiver.address() as AddressInfo
  const answer = await fetch(new URL('/v1/webhooks', url), {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/hook`, events: [event] }),
  })
  assert.equal(answer.status, 201, await answer.text())
}

async function untilToldOf(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const began = performance.now()
  for (;;) {
    const { rows } = await client.query(
      `select exists (select from deliveries where status = 'pending') as waits`,
    )
    if (!rows[0].waits) break
    await pause(100)
  }
  await client.end()
  process.stdout.write(`all were told ${((performance.now() - began) / 1_000).toFixed(1)} s later\n`)
}

/**
 * Transactions of the least SQL a second. Each is sent as one piece, begin to commit: its client waits once, so that it is
 * PostgreSQL that is measured and not the client.
 */
async function loadLeast(): Promise<number> {
  const leastSeconds = Math.min(seconds, LEAST_SECONDS_MAX)
  const until = performance.now() + leastSeconds * 1_000
  let done = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const client = await least.connect()
      while (performance.now() < until) {
        const hash = createHash('sha256')
          .update(String(1 + (done % 1_000)))
          .digest('hex')
        await client.query(`begin;
          select merchant_id, scopes from api_keys where hash = '\\x${hash}';
          insert into idem values (1, '${randomUUID()}', '\\x00') on conflict do nothing;
          insert into payments values ('${randomUUID()}', 1, 1, 1, 100.00, 99.00, 'USD', 'order-x', 7, 'bc1q${hash}${done}',
            123456, now(), '{"a":1}');
          insert into outbox (type, payload) values ('payment.created', '{"id":"x"}');
          commit`)
        done += 1
      }
      client.release()
    }),
  )
  return done / leastSeconds
}

/** Every answer is a payment with an address of its own, an event, and its place in the count. */
async function check(url: string, answers: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `select (select count(*) from payments)::int as payments, (select count(distinct address) from payments)::int as addresses,
       (select count(*) from addresses where issued_at is not null)::int as issued,
       (select count(*) from events where type = 'payment.created')::int as events,
       (select sum(payments) from payment_counts)::int as counted`,
  )
  await client.end()
  const { payments, addresses, issued, events, counted } = rows[0]
  assert.ok(payments >= answers, 'every answer is a payment')
  assert.deepEqual([addresses, issued, events, counted], [payments, payments, payments, payments])
}
