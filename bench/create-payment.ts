/**
 * POST /payments of a Beck as it comes (`beck start`, all roles, addresses derived meanwhile) against the least SQL that
 * could do it (create-payment/least-sql.ts), run by as many connections on the same PostgreSQL.
 *
 *   node bench/create-payment.ts [seconds per round] [--rounds=3] [--keyed] [--connections=16] [--asset=LTC] [--whole] [--listening=EVENT]
 *
 * `--whole` names a customer and metadata in each payment, as the least SQL does. `--listening=payment.completed` has one webhook
 * endpoint wait meanwhile, `--listening=payment.created` one that each payment is sent to: what is still to be sent as the load ends is
 * over soon, and before the other's turn.
 *
 * The two take turns, so that whatever else this machine does falls on both; the median of the rounds' ratios counts. What was
 * created, and sent, is checked before anything is printed. `300 --rounds=1` is the five minutes that it is to be sustained. Bars:
 * docs/internals/performance.md.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { pause } from '../src/core/pause.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { LEAST_SQL_RATIO_MIN, type LeastSql, openLeastSql } from './create-payment/least-sql.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { leastReceiver } from './create-payment/receiver.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3)
const ROUNDS = Number(option('rounds') ?? 3)
const isWhole = process.argv.includes('--whole')
const isKeyed = process.argv.includes('--keyed')
const CONNECTIONS = Number(option('connections') ?? 16)
/** Of one after the other, only how long each takes. */
const RATIO_MIN = CONNECTIONS === 1 ? 0 : isKeyed ? 0.3 : LEAST_SQL_RATIO_MIN
const P50_MS_MAX = CONNECTIONS === 1 ? 4 : 15
const listening = option('listening')
/** After the load has ended. */
const TOLD_SECONDS_MAX = 5
/** By then it is over, or never. */
const TOLD_SECONDS_WAITED = 900
const TOLD_LOOK_MS = 100
const seconds = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 6)
/** It does not grow tired. */
const LEAST_SECONDS_MAX = 30
const WARM_SECONDS_MAX = 10
const BODY = JSON.stringify({
  asset: option('asset') ?? 'LTC',
  fiat_amount: 49.99,
  reference: 'order-1001',
  ...(isWhole ? { customer_email: 'buyer@example.com', metadata: { a: 1 } } : {}),
})

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg') })
let beck: StartedBeck | null = null
let received = 0
const receiver = leastReceiver(() => {
  received += 1
})
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
  const rounds: { http: number; sql: number; p50Ms: number; toldSeconds: number }[] = []
  let made = 0
  for (let round = 0; round <= ROUNDS; round++) {
    // The first round warms both up.
    const http = await loadHttp(
      round === 0 ? { ...load, seconds: Math.min(seconds, WARM_SECONDS_MAX) } : load,
    )
    const toldSeconds = listening ? await untilTold(cluster.url('beck')) : 0
    const sql = await least.load(Math.min(seconds, LEAST_SECONDS_MAX))
    made += http.answers
    if (round > 0) rounds.push({ http: http.perSecond, sql, p50Ms: http.p50Ms, toldSeconds })
  }
  await check(cluster.url('beck'), made)
  const ratio = median(rounds.map(({ http, sql }) => http / sql))
  const p50Ms = median(rounds.map((round) => round.p50Ms))
  const toldSeconds = Math.max(...rounds.map((round) => round.toldSeconds))
  const good = ratio >= RATIO_MIN && p50Ms <= P50_MS_MAX && toldSeconds <= TOLD_SECONDS_MAX
  const rates = (of: 'http' | 'sql') => rounds.map((round) => round[of].toFixed(0)).join(', ')
  process.stdout.write(
    `POST /payments${isWhole ? ' with a customer and metadata' : ''}${isKeyed ? ' with keys' : ''}, ${CONNECTIONS} at once: ${rates('http')}/s; the least SQL ${rates('sql')}/s\n` +
      `ratio ${ratio.toFixed(2)} (bar: at least ${RATIO_MIN}), p50 ${p50Ms} ms (at most ${P50_MS_MAX})` +
      `${listening ? `, all told ${toldSeconds.toFixed(1)} s after the load (at most ${TOLD_SECONDS_MAX})` : ''}: ${good ? 'met' : 'MISSED'}\n`,
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

/** @returns How many seconds it took from the end of the load. */
async function untilTold(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const began = performance.now()
  const secondsSince = () => (performance.now() - began) / 1_000
  for (;;) {
    const { rows } = await client.query(
      `select exists (select from deliveries where status = 'pending') as waits`,
    )
    if (!rows[0].waits) break
    assert.ok(secondsSince() < TOLD_SECONDS_WAITED, 'not all are told')
    await pause(TOLD_LOOK_MS)
  }
  const told = secondsSince()
  await client.end()
  return told
}

/** Every answer is a payment with an address of its own, an event, and its place in the count; the endpoint heard of each. */
async function check(url: string, answers: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `select (select count(*) from payments)::int as payments, (select count(distinct address) from payments)::int as addresses,
       (select count(*) from addresses where issued_at is not null)::int as issued,
       (select count(*) from events where type = 'payment.created')::int as events,
       (select sum(payments) from payment_counts)::int as counted,
       (select count(*) from payments where customer_id is not null and metadata is not null)::int as whole,
       (select count(*) from deliveries where status = 'delivered')::int as delivered`,
  )
  await client.end()
  const { payments, addresses, issued, events, counted, whole, delivered } = rows[0]
  assert.ok(payments >= answers, 'every answer is a payment')
  assert.deepEqual([addresses, issued, events, counted], [payments, payments, payments, payments])
  assert.equal(whole, isWhole ? payments : 0)
  const told = listening === 'payment.created' ? payments : 0
  assert.equal(delivered, told)
  assert.ok(received >= told, 'the endpoint heard of every payment')
}
