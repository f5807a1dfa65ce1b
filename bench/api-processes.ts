/**
 * POST /payments of one, two, four and eight api processes on one PostgreSQL, straight and through PgBouncer in transaction
 * mode: what they add up to, and where the processors go.
 *
 *   node bench/api-processes.ts [seconds per turn]
 *
 * Each way has a database and processes of its own: the first plays all roles, the others are `api`. Each is loaded by its share of 32
 * connections, all with one key, so that payments of one account meet. Each rate is the median of three turns. With one and two processes
 * the ways take turns, for on a shared machine the same work takes half or twice as long minutes later; with more, each is
 * measured alone, for the other's idle processes would take their part of the processors. Beside each rate stand the processors that PostgreSQL, Beck,
 * the pooler and the load kept busy: where they are all that the machine has, more processes can add nothing. The last line holds
 * the turns against the least SQL that could do it, right before each, by as many connections on the same PostgreSQL, and those behind
 * PgBouncer against those without beside them. Every answer is checked to be one payment with an address of its own. Bars: that of
 * create-payment.ts against the least SQL, for as many processes as there are processors; more have none to run on. And behind a PgBouncer that prepares statements, nearly what as many make
 * without.
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
import { median } from './median.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const SECONDS = Number(process.argv[2] ?? 4)
const WARM_UP_SECONDS = 3
const TURNS = 3
const PROCESSES = [1, 2, 4, 8]
const CONNECTIONS = 32
const BODY = JSON.stringify({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })
const TICKS_PER_SECOND = 100
/** With so many at most the ways take turns, and are held against each other. */
const IN_TURNS_MAX = 2
/** Of what as many processes make without: the least behind a PgBouncer that prepares statements. */
const POOLED_RATIO_MIN = 0.9

interface Way {
  readonly name: 'straight' | 'PgBouncer'
  readonly database: string
  readonly url: string
  readonly becks: StartedBeck[]
  /** Payments that were answered. */
  made: number
}

/** Of the turns, by the number of processes. */
type Rates = Record<Way['name'] | 'least SQL', Map<number, readonly number[]>>

/** Of one way with so many processes. */
interface Turns {
  readonly way: Way
  readonly perSecond: number[]
  readonly p50Ms: number[]
  /** Of the whole turn, in which the load also starts and ends. */
  readonly elapsedMs: number[]
  /** In all turns. */
  readonly ticks: Map<string, number>
}

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg'), settings: ['max_connections=300'] })
let least: LeastSql | null = null
const becks: StartedBeck[] = []
// With as many connections to PostgreSQL as one process of Beck has.
const pooler = await launchPooler(cluster.url('pooled'), { connections: 20, clients: 500 })
try {
  least = await openLeastSql(cluster, CONNECTIONS)
  await least.load(WARM_UP_SECONDS)
  const ways = [
    await openWay('straight', 'straight', cluster.url('straight')),
    await openWay('PgBouncer', 'pooled', pooler.url),
  ] as const
  const rates: Rates = { straight: new Map(), PgBouncer: new Map(), 'least SQL': new Map() }
  for (const count of PROCESSES.filter((count) => count <= IN_TURNS_MAX))
    await takeTurns(ways, count, least, rates)
  for (const way of ways) {
    for (const count of PROCESSES.filter((count) => count > IN_TURNS_MAX))
      await takeTurns([way], count, least, rates)
    await check(way)
    await stopAll(way.becks)
  }
  report(rates)
} finally {
  await stopAll(becks)
  await least?.close()
  await pooler.stop()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function openWay(name: Way['name'], database: string, url: string): Promise<Way> {
  const admin = new pg.Client({ connectionString: cluster.url('postgres') })
  await admin.connect()
  await admin.query(`create database ${database}`)
  await admin.end()
  const way: Way = { name, database, url, becks: [], made: 0 }
  await startOne(way)
  return way
}

async function startOne({ database, url, becks: ours }: Way): Promise<void> {
  const env = {
    DATABASE_URL: url,
    BECK_DATA_DIR: join(folder, `${database}-${ours.length}`),
    BECK_METRICS_PORT: '0',
  }
  const beck = await startBeck(env, ours.length === 0 ? [] : ['--role', 'api'])
  becks.push(beck)
  ours.push(beck)
}

async function stopAll(ours: readonly StartedBeck[]): Promise<void> {
  await Promise.all(ours.map((beck) => beck.stop()))
}

/** Each way in turn, after those of its processes were started that are missing to so many. */
async function takeTurns(ways: readonly Way[], count: number, least: LeastSql, rates: Rates): Promise<void> {
  for (const way of ways) {
    while (way.becks.length < count) await startOne(way)
    // Code is compiled, addresses are derived.
    await load(way, WARM_UP_SECONDS)
  }
  const all = ways.map((way): Turns => ({ way, perSecond: [], p50Ms: [], elapsedMs: [], ticks: new Map() }))
  // By itself the way behind the pooler is held against nothing.
  const isHeld = ways.some(({ name }) => name === 'straight')
  const leastPerSecond: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    if (isHeld) leastPerSecond.push(await least.load(SECONDS))
    for (const { way, perSecond, p50Ms, elapsedMs, ticks } of all) {
      const before = await busyTicks()
      const begun = performance.now()
      const loaded = await load(way, SECONDS)
      const ended = performance.now()
      for (const [kind, after] of await busyTicks())
        ticks.set(kind, (ticks.get(kind) ?? 0) + after - (before.get(kind) ?? 0))
      perSecond.push(loaded.perSecond)
      p50Ms.push(loaded.p50Ms)
      elapsedMs.push(ended - begun)
    }
  }
  if (isHeld) rates['least SQL'].set(count, leastPerSecond)
  for (const turns of all) {
    show(turns.way.name, count, turns)
    rates[turns.way.name].set(count, turns.perSecond)
  }
}

function show(name: string, count: number, turns: Turns): void {
  const seconds = turns.elapsedMs.reduce((sum, ms) => sum + ms, 0) / 1_000
  const busy = [...turns.ticks]
    .map(([kind, ticks]) => [kind, ticks / TICKS_PER_SECOND / seconds] as const)
    .filter(([, share]) => share >= 0.01)
    .map(([kind, share]) => `${kind} ${share.toFixed(2)}`)
  process.stdout.write(
    `${name}, ${count} ${count === 1 ? 'process' : 'processes'}: ${median(turns.perSecond).toFixed(0)}/s, p50 ${median(turns.p50Ms)} ms; ` +
      `processors busy with ${busy.join(', ')} of ${availableParallelism()}\n`,
  )
}

function report(rates: Rates): void {
  const shown = (shares: readonly number[]) => shares.map((share) => share.toFixed(2)).join(', ')
  const ratesOf = (way: keyof Rates, count: number) => rates[way].get(count) ?? assert.fail(`${way} ${count}`)
  // Each turn by the one beside it.
  const ratioOf = (way: keyof Rates, to: keyof Rates, count: number) => {
    const others = ratesOf(to, count)
    return median(ratesOf(way, count).map((rate, turn) => rate / (others[turn] ?? Number.NaN)))
  }
  const ratios = PROCESSES.map((count) => ratioOf('straight', 'least SQL', count))
  const inTurns = PROCESSES.filter((count) => count <= IN_TURNS_MAX)
  const pooledRatios = inTurns.map((count) => ratioOf('PgBouncer', 'straight', count))
  const leastRates = PROCESSES.map((count) => median(ratesOf('least SQL', count)).toFixed(0))
  const { name, prepares } = pooler.version
  const isGood =
    PROCESSES.every(
      (count, at) => count > availableParallelism() || (ratios[at] ?? 0) >= LEAST_SQL_RATIO_MIN,
    ) &&
    (!prepares || pooledRatios.every((ratio) => ratio >= POOLED_RATIO_MIN))
  const behindPooler = prepares
    ? `behind ${name} ${inTurns.join(', ')} make ${shown(pooledRatios)} of what they make without (bar: ${POOLED_RATIO_MIN})`
    : `behind a pooler not measured: ${name} prepares no statements`
  process.stdout.write(
    `${PROCESSES.join(', ')} processes: ${shown(ratios)} of the least SQL's ${leastRates.join(', ')}/s (bar: ${LEAST_SQL_RATIO_MIN} with at most ` +
      `${availableParallelism()}); ${behindPooler}: ${isGood ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = isGood ? 0 : 1
}

/** All of them at once, each with its share of the connections. */
async function load(way: Way, seconds: number) {
  const targets = way.becks
  const key = targets[0]?.key ?? assert.fail(way.name)
  const connections = CONNECTIONS / targets.length
  const loads = await Promise.all(
    targets.map(({ url }) =>
      loadHttp({ url: new URL('/v1/payments', url).href, key, body: BODY, connections, seconds }),
    ),
  )
  way.made += loads.reduce((sum, each) => sum + each.answers, 0)
  return {
    perSecond: loads.reduce((sum, each) => sum + each.perSecond, 0),
    p50Ms: Math.max(...loads.map(({ p50Ms }) => p50Ms)),
  }
}

/** Every answer is a payment with an address of its own, in its place in the count. */
async function check({ database, made }: Way): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.url(database) })
  await client.connect()
  const { rows } = await client.query(
    `select (select count(*) from payments)::int as payments, (select count(distinct address) from payments)::int as addresses,
       (select sum(payments) from payment_counts)::int as counted`,
  )
  await client.end()
  const { payments, addresses, counted } = rows[0]
  assert.ok(payments >= made, 'every answer is a payment')
  assert.deepEqual([addresses, counted], [payments, payments])
}

/** Processor time so far, in ticks, by what it went into. */
async function busyTicks(): Promise<Map<string, number>> {
  const pids = new Set(becks.map(({ pid }) => pid))
  const postmaster = cluster.pid()
  const ticks = new Map<string, number>()
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => null)
    if (stat === null) continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [own, ofEnded] = [Number(fields[11]) + Number(fields[12]), Number(fields[13]) + Number(fields[14])]
    const kind = kindOf(Number(entry), Number(fields[1]))
    // A connection that was idle for long is closed: what its process took is counted with PostgreSQL's first one from then on.
    if (kind) ticks.set(kind, (ticks.get(kind) ?? 0) + own + (kind === 'PostgreSQL' ? ofEnded : 0))
    // The load's processes have ended when it is counted.
    if (Number(entry) === process.pid) ticks.set('the load', ofEnded)
  }
  return ticks

  function kindOf(pid: number, parent: number): string | null {
    if (pid === postmaster || parent === postmaster) return 'PostgreSQL'
    if (pid === pooler.pid) return 'PgBouncer'
    if (pids.has(pid)) return 'api'
    return pids.has(parent) ? 'background and signer' : null
  }
}
