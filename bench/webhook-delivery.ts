/**
 * Webhook deliveries to receivers that take their time, on a PostgreSQL that writes to disk.
 *
 *   node bench/webhook-delivery.ts
 *
 * Each run is checked before it is timed: every delivery arrived exactly once with a good signature and is on
 * record. The first gives the throughput as a share of what its concurrency and the receivers' latency allow, the
 * others the most memory that the worker's process ever held with thousands in flight: plain, where it is Beck's own,
 * and over TLS, as live receivers are asked, where each of Node's sockets adds some 50 kB outside of the heap. One bar holds
 * for both. Bars: design, section 11.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { newId } from '../src/core/ids.ts'
import { openSecrets } from '../src/core/secrets.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { announce } from '../src/events/announce.sql.ts'
import { createWebhookEndpoint } from '../src/events/webhook-endpoints.sql.ts'
import { selfSigned } from '../test/certificate.ts'
import { benchFolder } from './folder.ts'

const RATIO_MIN = 0.8
const RSS_MB_MAX = 200
/** With fewer at once, the memory of a run tells nothing. */
const IN_FLIGHT_MIN = 1_990

interface Run {
  readonly name: string
  readonly scheme: 'http' | 'https'
  readonly inFlight: number
  readonly latencyMs: number
  readonly events: number
  readonly endpoints: number
}
const RUNS: readonly Run[] = [
  { name: 'throughput', scheme: 'https', inFlight: 200, latencyMs: 200, events: 10_000, endpoints: 20 },
  { name: 'memory', scheme: 'http', inFlight: 2_000, latencyMs: 2_000, events: 6_000, endpoints: 40 },
  { name: 'memory_tls', scheme: 'https', inFlight: 2_000, latencyMs: 2_000, events: 6_000, endpoints: 40 },
]
const folder = await benchFolder()
const cluster = await startCluster({ dataDir: folder })
const secrets = openSecrets(randomBytes(32))
const children = new Set<ChildProcess>()
try {
  const results = []
  for (const run of RUNS) results.push({ run, ...(await measure(run)) })
  const [throughput, ...memories] = results
  if (!throughput || memories.length === 0) throw new Error('a run is missing')
  for (const { run, perSecond, ratio, rssMb, inFlightSeen } of results) {
    process.stdout.write(
      `${run.name}: ${run.events} deliveries, ${run.inFlight} places, ${run.latencyMs} ms receivers: ` +
        `${perSecond.toFixed(0)}/s, ${ratio.toFixed(2)} of concurrency / latency, ` +
        `${inFlightSeen} in flight, ${rssMb.toFixed(0)} MB at most\n`,
    )
  }
  const good =
    throughput.ratio >= RATIO_MIN &&
    memories.every(({ rssMb, inFlightSeen }) => rssMb <= RSS_MB_MAX && inFlightSeen >= IN_FLIGHT_MIN)
  const held = memories.map(
    ({ run, rssMb, inFlightSeen }) =>
      `${rssMb.toFixed(0)} MB over ${run.scheme} at ${inFlightSeen} in flight`,
  )
  process.stdout.write(
    `ratio ${throughput.ratio.toFixed(2)} (bar: at least ${RATIO_MIN}), ` +
      `memory ${held.join(', ')} (bar: at most ${RSS_MB_MAX} MB): ${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
} finally {
  for (const child of children) child.kill('SIGKILL')
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function measure(run: Run) {
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  await admin.query(`create database ${run.name}`)
  await admin.close()
  const url = cluster.url(run.name)
  const db = openDatabase({ url })
  await migrate(db)

  const certificate = selfSigned(['127.0.0.1'])
  const receiver = child('receiver')
  const { port } = await ask<{ port: number }>(receiver, {
    ...(run.scheme === 'https' ? certificate : {}),
    latencyMs: run.latencyMs,
  })
  const key = randomBytes(32)
  const secretByPath = await fill(db, run, openSecrets(key), port)

  const worker = child('worker')
  await ask(worker, { url, key: key.toString('hex'), ca: certificate.cert, inFlightMax: run.inFlight })
  const began = performance.now()
  worker.send({ start: true })
  let waiting = run.events
  while (waiting > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const { rows } = await db.query<{ n: bigint }>(
      `select count(*) as n from deliveries where status = 'pending'`,
    )
    waiting = Number(rows[0]?.n ?? 0)
  }
  const seconds = (performance.now() - began) / 1_000
  const { rssMb } = await ask<{ rssMb: number }>(worker, { stop: true })
  const seen = await ask<Seen>(receiver, { secretByPath })
  await check(db, run, seen)
  await db.close()
  for (const each of [receiver, worker]) each.disconnect()
  const perSecond = run.events / seconds
  return {
    perSecond,
    ratio: perSecond / (run.inFlight / (run.latencyMs / 1_000)),
    rssMb,
    inFlightSeen: seen.inFlightMax,
  }
}

interface Seen {
  /** Requests with a good signature, those among them whose event came for the first time, and all others. */
  readonly verified: number
  readonly distinct: number
  readonly bad: number
  readonly inFlightMax: number
}

async function check(db: Database, run: Run, seen: Seen): Promise<void> {
  const { rows } = await db.query<{ delivered: bigint; attempts: bigint; kept: bigint }>(
    `select count(*) filter (where status = 'delivered') as delivered, sum(attempts) as attempts,
       (select count(*) from delivery_attempts where response_status = 200) as kept
     from deliveries`,
  )
  const [kept] = rows
  const counts = [
    seen.verified,
    seen.distinct,
    Number(kept?.delivered),
    Number(kept?.attempts),
    Number(kept?.kept),
  ]
  if (seen.bad > 0 || counts.some((count) => count !== run.events)) {
    throw new Error(`not every delivery came exactly once and signed: ${JSON.stringify({ ...seen, counts })}`)
  }
}

/** An account per endpoint, so that each event makes one delivery. */
async function fill(
  db: Database,
  run: Run,
  owner: typeof secrets,
  port: number,
): Promise<Record<string, string>> {
  const secretByPath: Record<string, string> = {}
  const data = { id: 'pay_01jq0000000000000000000000', status: 'completed', filler: 'x'.repeat(1_000) }
  for (let index = 0; index < run.endpoints; index++) {
    const accountId = newId('acct')
    await db.query(
      `insert into accounts (id, name, email, mode, currency) values ($1, 'Shop', 'shop@example.com', 'test', 'EUR')`,
      [accountId],
    )
    await db.transaction(async (tx) => {
      const { secret } = await createWebhookEndpoint(tx, owner, {
        accountId,
        url: `${run.scheme}://127.0.0.1:${port}/${index}`,
        events: ['payment.completed'],
      })
      secretByPath[`/${index}`] = secret
      for (let n = index; n < run.events; n += run.endpoints) {
        await announce(tx, { accountId, type: 'payment.completed', cause: `payment:${n}:completed`, data })
      }
    })
  }
  await db.query('vacuum analyze')
  return secretByPath
}

function child(name: 'receiver' | 'worker'): ChildProcess {
  const started = fork(new URL(`webhook-delivery/${name}.ts`, import.meta.url))
  children.add(started)
  started.once('exit', () => children.delete(started))
  return started
}

async function ask<Answer>(to: ChildProcess, message: object): Promise<Answer> {
  to.send(message)
  const [answer] = await once(to, 'message')
  return answer as Answer
}
