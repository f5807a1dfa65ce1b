/**
 * POST /payments of a Beck as it comes (`beck start`, all roles, addresses derived meanwhile) against the least SQL that
 * could do it (create-payment/least-sql.ts), run by as many connections on the same PostgreSQL.
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
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { pause } from '../src/core/pause.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { LEAST_SQL_RATIO_MIN, type LeastSql, openLeastSql } from './create-payment/least-sql.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { benchFolder } from './folder.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3)
const ROUNDS = Number(option('rounds') ?? 3)
const isKeyed = process.argv.includes('--keyed')
const CONNECTIONS = Number(option('connections') ?? 16)
/** Of one after the other, only how long each takes. */
const RATIO_MIN = CONNECTIONS === 1 ? 0 : isKeyed ? 0.3 : LEAST_SQL_RATIO_MIN
const P50_MS_MAX = CONNECTIONS === 1 ? 4 : 15
const listening = option('listening')
const seconds = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 6)
/** It does not grow tired. */
const LEAST_SECONDS_MAX = 30
const WARM_SECONDS_MAX = 10
const BODY = JSON.stringify({ asset: option('asset') ?? 'LTC', fiat_amount: 49.99, reference: 'order-1001' })

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg') })
let beck: StartedBeck | null = null
const receiver = createServer((request, response) => request.resume().on('end', () => response.end('ok')))
let least: LeastSql | null = null
try {
  least = await openLeastSql(cluster, CONNECTIONS)
  const admin = new pg.Client({ connectionString: cluster.url('postgres') })
  await admin.connect()
  await admin.query('create database beck')
  await admin.end()
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
    const sql = await least.load(Math.min(seconds, LEAST_SECONDS_MAX))
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
  await least?.close()
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
