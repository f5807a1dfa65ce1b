/**
 * POST /payments of one, two, four and eight api processes on one PostgreSQL, straight and through PgBouncer in transaction
 * mode: what they add up to, and where the processors go.
 *
 *   node bench/api-processes.ts [seconds per round]
 *
 * The first process plays all roles, the others are `api`. Each is loaded by its share of 32 connections, all with one key, so that
 * payments of one account meet. Beside each rate stand the processors that PostgreSQL, Beck, the pooler and the load kept busy: where they
 * are all that the machine has, more processes can add nothing. The last line holds the rates against the least SQL that could do it,
 * by as many connections on the same PostgreSQL. Every answer is checked to be one payment with an address of its own. Bar: design, section
 * 11, for as many processes as there are processors; more have none to run on.
 */
import assert from 'node:assert/strict'
import { readdir, readFile, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { launchPooler } from '../test/pooler.ts'
import { LEAST_SQL_RATIO_MIN, type LeastSql, openLeastSql } from './create-payment/least-sql.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { benchFolder } from './folder.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const SECONDS = Number(process.argv[2] ?? 10)
const PROCESSES = [1, 2, 4, 8]
const CONNECTIONS = 32
const BODY = JSON.stringify({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })
const TICKS_PER_SECOND = 100

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg'), settings: ['max_connections=300'] })
let least: LeastSql | null = null
const becks: StartedBeck[] = []
// With as many connections to PostgreSQL as one process of Beck has.
const pooler = await launchPooler(cluster.url('pooled'), { connections: 20, clients: 500 })
try {
  least = await openLeastSql(cluster, CONNECTIONS)
  const rates = new Map<string, number>()
  // The first round warms it up. Of those before and behind Beck's, the best counts.
  await least.load(SECONDS)
  const before = await least.load(SECONDS)
  for (const [way, url] of [
    ['straight', cluster.url('straight')],
    ['PgBouncer', pooler.url],
  ] as const)
    await measureWay(way, url, rates)
  report(rates, Math.max(before, await least.load(SECONDS)))
} finally {
  for (const beck of becks.toReversed()) await beck.stop()
  await least?.close()
  await pooler.stop()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** One more process after the other, until there are as many as are asked for; all of them are ended. */
async function measureWay(way: string, url: string, rates: Map<string, number>): Promise<void> {
  const name = way === 'straight' ? 'straight' : 'pooled'
  const admin = new pg.Client({ connectionString: cluster.url('postgres') })
  await admin.connect()
  await admin.query(`create database ${name}`)
  await admin.end()
  const all = await startBeck({
    DATABASE_URL: url,
    BECK_DATA_DIR: join(folder, `${name}-0`),
    BECK_METRICS_PORT: '0',
  })
  becks.push(all)
  const ours = [all]
  let made = 0
  for (const count of PROCESSES) {
    while (ours.length < count) {
      const env = {
        DATABASE_URL: url,
        BECK_DATA_DIR: join(folder, `${name}-${ours.length}`),
        BECK_METRICS_PORT: '0',
      }
      const beck = await startBeck(env, ['--role', 'api'])
      becks.push(beck)
      ours.push(beck)
    }
    // Code is compiled, addresses are derived.
    made += (await load(ours, all.key, Math.max(3, SECONDS / 3))).answers
    const before = await busyTicks()
    const { answers, perSecond, p50Ms } = await load(ours, all.key, SECONDS)
    const after = await busyTicks()
    made += answers
    rates.set(`${way} ${count}`, perSecond)
    const busy = [...after]
      .map(([kind, ticks]) => [kind, (ticks - (before.get(kind) ?? 0)) / TICKS_PER_SECOND / SECONDS] as const)
      .filter(([, share]) => share >= 0.01)
      .map(([kind, share]) => `${kind} ${share.toFixed(2)}`)
    process.stdout.write(
      `${way}, ${count} ${count === 1 ? 'process' : 'processes'}: ${perSecond.toFixed(0)}/s, p50 ${p50Ms} ms; processors busy with ${busy.join(', ')} of ${availableParallelism()}\n`,
    )
  }
  await check(name, made)
  for (const beck of ours.toReversed()) await beck.stop()
}

function report(rates: ReadonlyMap<string, number>, leastRate: number): void {
  const rate = (way: string, count: number) => rates.get(`${way} ${count}`) ?? assert.fail(`${way} ${count}`)
  const ratios = PROCESSES.map((count) => rate('straight', count) / leastRate)
  const pooled = PROCESSES.map((count) => rate('PgBouncer', count) / rate('straight', count))
  const shown = (shares: readonly number[]) => shares.map((share) => share.toFixed(2)).join(', ')
  const isGood = PROCESSES.every(
    (count, at) => count > availableParallelism() || (ratios[at] ?? 0) >= LEAST_SQL_RATIO_MIN,
  )
  process.stdout.write(
    `${PROCESSES.join(', ')} processes: ${shown(ratios)} of the least SQL's ${leastRate.toFixed(0)}/s (bar: ${LEAST_SQL_RATIO_MIN} with at most ` +
      `${availableParallelism()}); behind PgBouncer ${shown(pooled)} of what each makes without: ${isGood ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = isGood ? 0 : 1
}

/** All of them at once, each with its share of the connections. */
async function load(targets: readonly StartedBeck[], key: string, seconds: number) {
  const connections = CONNECTIONS / targets.length
  const loads = await Promise.all(
    targets.map(({ url }) =>
      loadHttp({ url: new URL('/v1/payments', url).href, key, body: BODY, connections, seconds }),
    ),
  )
  return {
    answers: loads.reduce((sum, each) => sum + each.answers, 0),
    perSecond: loads.reduce((sum, each) => sum + each.perSecond, 0),
    p50Ms: Math.max(...loads.map(({ p50Ms }) => p50Ms)),
  }
}

/** Every answer is a payment with an address of its own, in its place in the count. */
async function check(name: string, answers: number): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.url(name) })
  await client.connect()
  const { rows } = await client.query(
    `select (select count(*) from payments)::int as payments, (select count(distinct address) from payments)::int as addresses,
       (select sum(payments) from payment_counts)::int as counted`,
  )
  await client.end()
  const { payments, addresses, counted } = rows[0]
  assert.ok(payments >= answers, 'every answer is a payment')
  assert.deepEqual([addresses, counted], [payments, payments])
}

/** Processor time so far, in ticks, by what it went into; what has ended is counted with its parent. */
async function busyTicks(): Promise<Map<string, number>> {
  const pids = new Set(becks.map(({ pid }) => pid))
  const ticks = new Map<string, number>()
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => null)
    if (stat === null) continue
    const end = stat.lastIndexOf(')')
    const name = stat.slice(stat.indexOf('(') + 1, end)
    const fields = stat.slice(end + 2).split(' ')
    const kind = kindOf(Number(entry), Number(fields[1]), name)
    if (kind) ticks.set(kind, (ticks.get(kind) ?? 0) + Number(fields[11]) + Number(fields[12]))
    // The load's processes have ended when it is counted.
    if (Number(entry) === process.pid) ticks.set('the load', Number(fields[13]) + Number(fields[14]))
  }
  return ticks

  function kindOf(pid: number, parent: number, name: string): string | null {
    if (name.startsWith('postgres')) return 'PostgreSQL'
    if (name.startsWith('pgbouncer')) return 'PgBouncer'
    if (pids.has(pid)) return 'api'
    return pids.has(parent) ? 'background and signer' : null
  }
}
