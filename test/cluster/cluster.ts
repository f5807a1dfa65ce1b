/**
 * `npm run test:cluster`: all roles of Beck, more than once, on three machines with Patroni, behind HAProxy and PgBouncer, while a
 * merchant never rests. Each part dies. Its figures are in the last line of what it prints.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { SECOND_MS } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/database.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { type BeckProcess, startBeckProcess } from '../beck-process.ts'
import { type BusyMerchant, startBusyMerchant } from '../busy-merchant.ts'
import { until } from '../wait-for.ts'
import { type Cluster, SUPERUSER_PASSWORD, startCluster } from './patroni.ts'
import { openRoad, type Road, USER_PASSWORD } from './road.ts'

const LONGEST_GAP_MS_MAX = 30 * SECOND_MS
/** Made after each trouble, before the next one. */
const PAYMENTS_BETWEEN = 40

/** Connections to three machines in turn: were another one led to, it would be among them. */
const IN_A_ROW = 12

const run = promisify(execFile)
await requirePrograms()
const folder = await mkdtemp(join(tmpdir(), 'beck-cluster-'))
await chmod(folder, 0o711)

test('whatever dies, no acknowledged payment is lost or made twice, and nobody waits for longer than half a minute', async (t) => {
  const cluster = await startCluster(folder, await userPostgres())
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  await cluster.untilWhole()
  const road = await openRoad(folder)
  const databaseUrl = await makeDatabase(road)
  const becks = await startBecks(databaseUrl)
  const merchant = await startBusyMerchant({ apiKey: becks.apiKey, urls: () => becks.urls, pauseMs: 100 })
  await merchant.more(PAYMENTS_BETWEEN)

  const gaps: Record<string, number> = {}
  const through = async (trouble: string, happen: () => Promise<void>) => {
    merchant.longestGapMs()
    await happen()
    await merchant.more(PAYMENTS_BETWEEN)
    gaps[trouble] = merchant.longestGapMs()
    t.diagnostic(`${trouble}: ${gaps[trouble]} ms`)
    await cluster.untilWhole()
  }
  await through('nothing', async () => {})
  await through('leader killed', () => killLeader(cluster))
  await through('leader killed again', () => killLeader(cluster))
  await through('leader frozen and fenced', () => freezeLeader(cluster))
  await through('pooler killed', () => road.killPooler())
  for (const role of ['api', 'worker', 'watcher', 'signer'] as const)
    await through(`${role} killed`, () => becks.kill(role))

  await finish(merchant, becks, databaseUrl, gaps, (line) => t.diagnostic(line))
})

async function killLeader(cluster: Cluster): Promise<void> {
  const leader = await cluster.leader()
  await cluster.cutPower(leader)
  const next = await cluster.leader()
  assert.notEqual(next, leader)
  cluster.start(leader)
}

/** It still has its connections, and would go on where it stopped: the watchdog sees to it that it does not. */
async function freezeLeader(cluster: Cluster): Promise<void> {
  const leader = await cluster.leader()
  await cluster.freeze(leader)
  await cluster.untilReset(leader)
  assert.notEqual(await cluster.leader(), leader)
  cluster.start(leader)
}

async function finish(
  merchant: BusyMerchant,
  becks: Becks,
  databaseUrl: string,
  gaps: Readonly<Record<string, number>>,
  say: (line: string) => void,
): Promise<void> {
  await merchant.rest()
  const db = openDatabase({ url: databaseUrl, connectionsMax: 2 })
  const collected = await merchant.collect(db)
  await db.close()
  const proof = startBeckProcess(['reconcile'], becks.settings)
  assert.equal(await proof.ended, 0, JSON.stringify(proof.said))
  const answers = Object.groupBy(merchant.failures, ({ status, message }) =>
    status === null ? 'none' : `${status} ${message}`,
  )
  for (const [answer, those] of Object.entries(answers)) say(`asked again: ${those?.length} x ${answer}`)
  const longestGapMs = Math.max(...Object.values(gaps))
  say(
    JSON.stringify({
      ...collected,
      asked_again: merchant.failures.length,
      longest_gap_ms: longestGapMs,
      gaps,
    }),
  )
  assert.deepEqual(becks.mistakes(), [], "what is the database's is called nobody's mistake")
  assert.ok(longestGapMs <= LONGEST_GAP_MS_MAX, `${longestGapMs} ms without an acknowledgement`)
  await becks.stop()
}

const PLAYED = ['api', 'api', 'api', 'worker', 'worker', 'watcher', 'watcher', 'signer'] as const
type Played = (typeof PLAYED)[number]

interface Becks {
  readonly settings: Readonly<Record<string, string>>
  readonly apiKey: string
  readonly urls: readonly string[]
  /** Lines of their logs: requests that failed for another reason than something that was away. */
  mistakes(): string[]
  /** `kill -9` of the first that plays it; whoever looks after it starts it again. */
  kill(role: Played): Promise<void>
  stop(): Promise<void>
}

async function startBecks(databaseUrl: string): Promise<Becks> {
  const settings = {
    DATABASE_URL: databaseUrl,
    BECK_SECRET_KEY: Buffer.alloc(32, 6).toString('hex'),
    BECK_DATA_DIR: join(folder, 'operator'),
    BECK_WEBHOOK_ALLOW_PRIVATE: '1',
    BECK_SANDBOX_BLOCK_MS: '1000',
    BECK_METRICS_PORT: '0',
  }
  const migrating = startBeckProcess(['migrate'], settings)
  assert.equal(await migrating.ended, 0, migrating.log())
  const places = await Promise.all(
    PLAYED.map(async (role, place) => ({ role, place, port: await freePort() })),
  )
  const running = new Map<number, BeckProcess>()
  const logs: (() => string)[] = []
  const startOne = ({ role, place, port }: (typeof places)[number]) => {
    const own = { ...settings, PORT: String(port), BECK_DATA_DIR: join(folder, `beck-${place}`) }
    const beck = startBeckProcess(['start', '--role', role], own)
    running.set(place, beck)
    logs.push(beck.log)
    return beck
  }
  const started = places.map(startOne)
  const said = await Promise.all(
    started
      .filter((_, place) => PLAYED[place] === 'api')
      .map((beck) => beck.hears((object) => 'url' in object)),
  )
  const [apiKey] = said.flatMap(({ key }) => (typeof key === 'string' ? [key] : []))
  return {
    settings,
    apiKey: apiKey ?? assert.fail('of three first starts at once, one makes the first account'),
    urls: places.filter(({ role }) => role === 'api').map(({ port }) => `http://127.0.0.1:${port}`),
    mistakes: () =>
      logs.flatMap((log) =>
        log()
          .split('\n')
          .filter((line) => line.includes('"a request failed"')),
      ),
    async kill(role) {
      const place = places.find((each) => each.role === role) ?? assert.fail(role)
      const { child } = running.get(place.place) ?? assert.fail(role)
      child.kill('SIGKILL')
      await once(child, 'exit')
      startOne(place)
    },
    async stop() {
      await Promise.all([...running.values()].map((beck) => beck.stop()))
    },
  }
}

async function makeDatabase({ directPort, poolerPort }: Road): Promise<string> {
  const url = `postgres://postgres:${SUPERUSER_PASSWORD}@127.0.0.1:${directPort}/postgres`
  await untilPrimaryAlone(url)
  const admin = openDatabase({ url, connectionsMax: 1 })
  await admin.query(`create role beck login password '${USER_PASSWORD}'`)
  await admin.query('create database beck owner beck')
  await admin.close()
  return `postgres://beck:${USER_PASSWORD}@127.0.0.1:${poolerPort}/beck`
}

/** HAProxy leads anywhere until it has asked each machine some times who the primary is. */
async function untilPrimaryAlone(url: string): Promise<void> {
  let inARow = 0
  await until('nobody but the primary is reached', async () => {
    const db = openDatabase({ url, connectionsMax: 1 })
    const { rows } = await db
      .query<{ leads: boolean }>('select not pg_is_in_recovery() as leads')
      .catch(() => ({ rows: [] }))
    await db.close()
    inARow = rows[0]?.leads ? inARow + 1 : 0
    return inARow >= IN_A_ROW
  })
}

async function userPostgres(): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(
    ['--user', '--group'].map(async (what) => Number((await run('id', [what, 'postgres'])).stdout)),
  )
  return { uid: uid ?? assert.fail(), gid: gid ?? assert.fail() }
}

/** @throws {Error} saying what to install. */
async function requirePrograms(): Promise<void> {
  const needed = [
    ['/usr/bin/patroni', 'patroni'],
    ['/usr/lib/python3/dist-packages/etcd', 'python3-etcd'],
    ['/usr/bin/etcd', 'etcd-server'],
    ['/usr/lib/postgresql/15/bin/postgres', 'postgresql-15'],
    ['/usr/sbin/haproxy', 'haproxy'],
    ['/usr/sbin/pgbouncer', 'pgbouncer'],
    ['/usr/bin/unshare', 'util-linux'],
  ] as const
  const missing = needed.flatMap(([file, debian]) => (existsSync(file) ? [] : [debian]))
  if (missing.length > 0)
    throw new Error(
      `the cluster's test needs programs that are not here; on Debian 12: apt-get install ${missing.join(' ')}`,
    )
  if (process.getuid?.() !== 0)
    throw new Error(
      "the cluster's test is run as root: its machines are namespaces of processes, as the user postgres",
    )
}
