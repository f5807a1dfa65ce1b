/**
 * Webhook deliveries to receivers that take their time, on a PostgreSQL that writes to disk.
 *
 *   node bench/webhook-delivery.ts
 *
 * Each run is checked before it is timed: every delivery arrived exactly once with a good signature and is on
 * record. The first gives the throughput as a share of what its concurrency and the receivers' latency allow, the
 * others the most memory that the worker's process ever held with thousands in flight: plain, where it is Beck's own (bar: 200 MB),
 * and over TLS, as live receivers are asked. There Node holds more than that bar by itself, for each of its sockets
 * takes some 60 kB outside of the heap: what counts is how much more than the least (webhook-delivery/least-memory.ts).
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
const TLS_RATIO_MAX = 1.4
const BODY_BYTES = 1_200
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
  const [throughput, plain, tls] = results
  if (!throughput || !plain || !tls) throw new Error('a run is missing')
  const leastMb = await leastMemory(tls.run)
  for (const { run, perSecond, ratio, rssMb, inFlightSeen } of results) {
    process.stdout.write(
      `${run.name}: ${run.events} deliveries, ${run.inFlight} places, ${run.latencyMs} ms receivers: ` +
        `${perSecond.toFixed(0)}/s, ${ratio.toFixed(2)} of concurrency / latency, ` +
        `${inFlightSeen} in flight, ${rssMb.toFixed(0)} MB at most\n`,
    )
  }
  const tlsRatio = tls.rssMb / leastMb
  const good =
    throughput.ratio >= RATIO_MIN &&
    plain.rssMb <= RSS_MB_MAX &&
    tlsRatio <= TLS_RATIO_MAX &&
    [plain, tls].every(({ inFlightSeen }) => inFlightSeen >= IN_FLIGHT_MIN)
  process.stdout.write(
    `the least over TLS, Node's own client with ${tls.run.inFlight} in flight: ${leastMb.toFixed(0)} MB\n` +
      `ratio ${throughput.ratio.toFixed(2)} (bar: at least ${RATIO_MIN}), memory ${plain.rssMb.toFixed(0)} MB (bar: at most ${RSS_MB_MAX}), ` +
      `over TLS ${tls.rssMb.toFixed(0)} MB, ${tlsRatio.toFixed(2)} of the least (bar: at most ${TLS_RATIO_MAX}): ${good ? 'met' : 'MISSED'}\n`,
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

/** Megabytes that Node's own client holds at most, with as many in flight. The receiver knows no secret of its requests, and takes each for bad. */
async function leastMemory({ inFlight, latencyMs, events }: Run): Promise<number> {
  const certificate = selfSigned(['127.0.0.1'])
  const receiver = child('receiver')
  const { port } = await ask<{ port: number }>(receiver, { ...certificate, latencyMs })
  const client = child('least-memory')
  const asked = { port, ca: certificate.cert, requests: events, inFlight, bodyBytes: BODY_BYTES }
  const { rssMb } = await ask<{ rssMb: number }>(client, asked)
  const seen = await ask<Seen>(receiver, { secretByPath: {} })
  if (seen.bad !== events || seen.inFlightMax < IN_FLIGHT_MIN)
    throw new Error(`the client sent ${seen.bad} requests, ${seen.inFlightMax} at once`)
  for (const each of [receiver, client]) each.disconnect()
  return rssMb
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

function child(name: 'receiver' | 'worker' | 'least-memory'): ChildProcess {
  const execArgv = name === 'least-memory' ? ['--max-semi-space-size=2'] : []
  const started = fork(new URL(`webhook-delivery/${name}.ts`, import.meta.url), { execArgv })
  children.add(started)
  started.once('exit', () => children.delete(started))
  return started
}

async function ask<Answer>(to: ChildProcess, message: object): Promise<Answer> {
  to.send(message)
  const ended = once(to, 'exit').then(([code]) => {
    throw new Error(`a process of the bench ended with ${code} before it answered`)
  })
  const [answer] = await Promise.race([once(to, 'message'), ended])
  return answer as Answer
}
