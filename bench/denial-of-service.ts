/**
 * A hundred tenants work at a modest rate while somebody wants to stop them: a stranger with 10 Mbit/s in several ways, one
 * merchant's key at its limit with the dearest requests, a farm of receivers that never answer. Each attack stands between
 * two quiet stretches of the same run, each half as long, and is held against their mean. A stretch goes on until the
 * machine had its processors and its disk for so long; what happened while one was gone is not counted (steady-machine.ts).
 *
 *   npm run bench -- denial-of-service, or node bench/denial-of-service.ts [seconds per attack, 60] [attack…]
 *
 * Checked first: every request of a tenant was answered as it should be, every payment that was answered is there once. Bars:
 * p99 of API and webhooks at most doubles, and no watcher misses a block.
 * Attackers run at the lowest priority (`nice`), for they stand for other machines. One that
 * did not get to send what its line lets through proves nothing, and counts as missed.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import { createApiKey } from '../src/accounts/api-keys.sql.ts'
import { SCOPES } from '../src/core/scopes.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { freePort, startCluster } from '../src/db/embedded/embedded.ts'
import { COMPILE_CACHE } from '../src/process/compile-cache.ts'
import { TEST_SECRET_KEY } from '../test/wallet.ts'
import type { Attack, Effort, Figures, Target, TenantsTarget } from './denial-of-service/protocol.ts'
import { benchFolder } from './folder.ts'
import { wantLeast } from './steady-machine.ts'

const ATTACKS = [
  ...['connections', 'slow-bodies', 'big-bodies', 'pipelined', 'nonsense', 'wrong-keys', 'pages'],
  ...['forms', 'sign-in', 'streams', 'key-at-limit', 'silent-farm'],
] as const satisfies readonly Attack[]
const [given, ...named] = process.argv.slice(2)
const seconds = Number(given ?? 60)
const attacks = named.length > 0 ? ATTACKS.filter((attack) => named.includes(attack)) : ATTACKS
assert.ok(
  seconds > 0 && attacks.length > 0 && attacks.length >= named.length,
  `attacks are ${ATTACKS.join(', ')}`,
)

const TENANTS = 100
const BLOCK_MS = 2_000
const AFTERMATH_S = 5
/** Of what an attack's line lets through, what it has to have sent to count as one. */
const SENT_SHARE_MIN = 0.75
const MADE_PER_SECOND_MIN = 1
const RATIO_MAX = 2
/** A watcher may be in the middle of the newest block when it is asked. */
const BLOCKS_BEHIND_MAX = 1
/** Seen that soon after it was mined, no block was missed. */
const BEHIND_MS_MAX = 5_000

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'postgres') })
const children: ChildProcess[] = []
const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 4 })
try {
  const target = await startBeck()
  const tenants = start('tenants', {
    ...target,
    tenants: await makeTenants(TENANTS),
    receiver: await freePort(),
  })
  const attackers = start('attackers', { ...target, key: (await makeTenants(1))[0] ?? assert.fail() })
  await Promise.all([told(tenants, 'ready'), told(attackers, 'ready')])
  // Code is compiled, pools are filled.
  await measure(tenants, Math.max(10, seconds / 3))
  let before = await measure(tenants, seconds / 2)
  show('quiet', before, null)
  let isGood = true
  for (const attack of attacks) {
    attackers.send({ begin: attack })
    const during = await measure(tenants, seconds)
    attackers.send({ end: true })
    const effort = (await told(attackers, 'done')) as Effort
    // What it left behind is worked off: answered and followed like everything else, and no quiet to be held against.
    const aftermath = await measure(tenants, AFTERMATH_S)
    isGood &&= aftermath.behindMs <= BEHIND_MS_MAX
    // Each begins as the first did, before anybody is refused.
    const after = await measure(tenants, seconds / 2)
    const isMet = show(attack, during, [before, after])
    const isAttack = showEffort(effort)
    isGood &&= isMet && isAttack
    before = after
  }
  await checkPayments(tenants)
  process.stdout.write(
    `bars: p99 at most ${RATIO_MAX} times the quiet one, no block missed: ${isGood ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = isGood ? 0 : 1
} finally {
  for (const child of children.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  await db.close()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Who is starved of processor by what he attacks, on the machine that both share, proves nothing. @returns Whether he was not. */
function showEffort({ text, sentShare, connectedShare, made }: Effort): boolean {
  const lacks = [
    ...(made >= seconds * MADE_PER_SECOND_MIN ? [] : [`it made ${made} connections or requests`]),
    ...((sentShare ?? 1) >= SENT_SHARE_MIN
      ? []
      : [`it sent ${sentShare?.toFixed(2)} of what its line lets through`]),
    ...((connectedShare ?? 1) >= SENT_SHARE_MIN
      ? []
      : [`${connectedShare?.toFixed(2)} of its connections were made`]),
  ]
  process.stdout.write(`  ${text}${lacks.length > 0 ? `: NO ATTACK, ${lacks.join(', ')}` : ''}\n`)
  return lacks.length === 0
}

async function startBeck(): Promise<Target> {
  const port = await freePort()
  const program = fileURLToPath(new URL('../src/cli/beck.ts', import.meta.url))
  const child = spawn(process.execPath, [program, '--json', 'start'], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      DATABASE_URL: cluster.url('postgres'),
      BECK_SECRET_KEY: TEST_SECRET_KEY.toString('hex'),
      BECK_DATA_DIR: join(folder, 'beck'),
      BECK_SANDBOX_BLOCK_MS: String(BLOCK_MS),
      BECK_WEBHOOK_ALLOW_PRIVATE: '1',
      BECK_LOG_LEVEL: 'error',
      PORT: String(port),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  for await (const line of createInterface(child.stdout)) if (line.includes('"url"')) return { port }
  return assert.fail('Beck ended before it was ready')
}

async function makeTenants(count: number): Promise<string[]> {
  const keys: string[] = []
  for (let number = 0; number < count; number++)
    keys.push(
      await db.transaction(async (tx) => {
        const name = `Tenant ${number}`
        const account = await insertAccount(tx, {
          name,
          email: 'a@example.com',
          mode: 'test',
          currency: 'USD',
        })
        return (await createApiKey(tx, { accountId: account.id, mode: 'test', name, scopes: [...SCOPES] }))
          .key
      }),
    )
  return keys
}

function start(
  program: 'tenants' | 'attackers',
  target: TenantsTarget | (Target & { key: string }),
): ChildProcess {
  const child = fork(
    fileURLToPath(new URL(`./denial-of-service/${program}.ts`, import.meta.url)),
    [JSON.stringify(target)],
    program === 'attackers'
      ? { execPath: 'nice', execArgv: ['-n', '19', process.execPath], detached: true }
      : {},
  )
  children.push(child)
  if (program === 'attackers') wantLeast(child)
  return child
}

/** What a child says under a name, the next time it does. */
function told(child: ChildProcess, name: string): Promise<unknown> {
  return new Promise((resolve) => {
    const listen = (message: Record<string, unknown>) => {
      if (!(name in message)) return
      child.off('message', listen)
      resolve(message[name])
    }
    child.on('message', listen)
  })
}

interface Stretch extends Figures {
  readonly behindMs: number
  readonly blocks: number
}

async function measure(tenants: ChildProcess, forSeconds: number): Promise<Stretch> {
  tenants.send({ seconds: forSeconds })
  const isOver = new AbortController()
  const figures = (told(tenants, 'figures') as Promise<Figures>).finally(() => isOver.abort())
  const watched = await watchBlocks(db, isOver.signal)
  const { problems, ...rest } = await figures
  assert.deepEqual(problems, [], 'every request of a tenant is answered as it should be')
  return { ...rest, problems, ...watched }
}

/** How long the newest blocks of the simulated chains were there without being seen, at most. */
async function watchBlocks(database: Database, isOver: AbortSignal) {
  const first = await tips(database)
  let behindMs = 0
  while (!isOver.aborted) {
    for (const { behind, oldestMs } of await tips(database))
      if (behind > BLOCKS_BEHIND_MAX) behindMs = Math.max(behindMs, oldestMs)
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  const last = await tips(database)
  return {
    behindMs,
    blocks: last.reduce((sum, { height }, index) => sum + height - (first[index]?.height ?? 0), 0),
  }
}

async function tips(database: Database) {
  const { rows } = await database.query<{ height: number; behind: number; oldestMs: number }>(
    `select c.tip_height::int as height, (b.height - c.tip_height)::int as behind,
       (extract(epoch from clock_timestamp() - coalesce((select min(n.block_time) from sim_blocks n
          where n.chain = c.chain and n.height > c.tip_height), clock_timestamp())) * 1000)::float as "oldestMs"
     from chains c, lateral (select max(height) as height from sim_blocks s where s.chain = c.chain) b order by c.chain`,
  )
  return rows
}

function show(name: string, stretch: Stretch, quiet: readonly [Stretch, Stretch] | null): boolean {
  const mean = (of: (stretch: Stretch) => number) => (quiet ? (of(quiet[0]) + of(quiet[1])) / 2 : of(stretch))
  const ratio = (of: (stretch: Stretch) => number) => of(stretch) / mean(of)
  const api = ratio(({ apiP99Ms }) => apiP99Ms)
  const webhook = ratio(({ webhookP99Ms }) => webhookP99Ms)
  const isGood =
    api <= RATIO_MAX && webhook <= RATIO_MAX && stretch.behindMs <= BEHIND_MS_MAX && stretch.blocks > 0
  process.stdout.write(
    `${name}: ${stretch.requests} requests of ${stretch.givenSeconds.toFixed(0)} s in ${stretch.allSeconds.toFixed(0)}, p50 ${stretch.apiP50Ms.toFixed(0)} ms, p99 ${stretch.apiP99Ms.toFixed(0)} ms` +
      ` (${api.toFixed(2)} x quiet); webhooks p99 ${stretch.webhookP99Ms.toFixed(0)} ms (${webhook.toFixed(2)} x);` +
      ` ${stretch.blocks} blocks followed, a block waited ${stretch.behindMs.toFixed(0)} ms at most` +
      `${quiet === null ? '' : isGood ? ': met' : ': MISSED'}\n`,
  )
  return isGood
}

/** Each payment that a tenant was told of is there, once, with an address of its own. */
async function checkPayments(tenants: ChildProcess): Promise<void> {
  tenants.send({ count: true })
  const counted = await told(tenants, 'count')
  const { rows } = await db.query<{ payments: bigint; addresses: bigint }>(
    `select count(*) as payments, count(distinct address) as addresses from payments where reference = 'tenant'`,
  )
  assert.deepEqual(rows, [{ payments: BigInt(Number(counted)), addresses: BigInt(Number(counted)) }])
}
