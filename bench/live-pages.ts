/**
 * Ten thousand open checkout pages: what each costs in memory, and how long one block takes to reach them all.
 *
 *   node bench/live-pages.ts [pages]
 *
 * The pages are those of a real `beck start --role api`, opened over connections of their own by a third process. Each
 * is a session with a payment of its own, paid on the simulated chain; watcher and settler run here. Time runs
 * from the commit of the block on its chain until the last page was told, and counts when every page was told exactly
 * what the block means for it. Memory is the server's resident set, with all pages open and after half a minute of
 * quiet, less what it was before the first: as it is, and after a garbage collection. Bars: 16 kB a page, one second.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Account } from '../src/accounts/account.ts'
import { createSimulatedChain } from '../src/chains/simulated/simulated-chain.ts'
import { type SessionId, showId } from '../src/core/ids.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { freePort, startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { createSession, pickCoin } from '../src/flows/checkout/checkout.ts'
import type { Gateway } from '../src/flows/gateway.ts'
import { mineInSandbox, payInSandbox } from '../src/flows/sandbox.ts'
import type { Payment } from '../src/payments/payment.ts'
import { startSettler } from '../src/workers/settle.ts'
import { startWatcher } from '../src/workers/watch.ts'
import { testAccount } from '../test/gateway.ts'
import { gatewayOn } from '../test/gateway-on.ts'
import { fillTestWallets, TEST_SECRET_KEY, TEST_SECRETS } from '../test/wallet.ts'
import { benchFolder } from './folder.ts'

const BYTES_MAX = 16 * 1_024
const MS_MAX = 1_000
/** After the one that holds the payments; each adds a confirmation, and none of them settles a payment. */
const BLOCKS = 4
const QUIET_MS = 35_000
const CONNECTIONS = 10
const pages = Number(process.argv[2] ?? 10_000)

await requireFiles(pages + 1_000)
const folder = await benchFolder()
// What is measured is not the disk, and ten thousand payments are made before it.
const cluster = await startCluster({ dataDir: folder, settings: ['synchronous_commit=off'] })
const children: ChildProcess[] = []
try {
  const url = cluster.url('postgres')
  const db = openDatabase({ url, connectionsMax: CONNECTIONS })
  await migrate(db)
  await fillTestWallets(db, { freshPerChain: pages + 10, chains: ['sim-litecoin'] })
  const gateway = gatewayOn(db, TEST_SECRETS)
  const account = await testAccount(gateway)
  const sessions = await startCheckouts(gateway, account)

  const port = await freePort()
  const server = await startApi(url, port)
  const buyers = fork(new URL('live-pages/buyers.ts', import.meta.url))
  children.push(buyers)
  const ask = async <Answer>(question: object): Promise<Answer> => {
    buyers.send(question)
    const ended = once(buyers, 'exit').then(() => assert.fail('the buyers ended'))
    return (await Promise.race([once(buyers, 'message'), ended]))[0] as Answer
  }
  const ids = sessions.map(({ id }) => showId('cs', id))
  // What the first pages cause to be compiled and connected is no cost of a page.
  await ask({ open: ids.slice(0, 500), port })
  await ask({ close: true })
  await sleep(5_000)
  await server.collectGarbage()
  const before = await server.rss()

  await ask({ open: ids, port })
  const opened = await server.rss()
  await sleep(QUIET_MS)
  const quiet = await server.rss()
  await server.collectGarbage()
  const collected = await server.rss()

  const watcher = startWatcher(gateway, createSimulatedChain({ db, chain: 'sim-litecoin' }))
  const settlers = Array.from({ length: 4 }, () => startSettler(gateway))
  const mine = async (confirmations: number): Promise<number> => {
    const told = ask<{ toldAt: string }>({ expect: `-${confirmations}` })
    await db.transaction((tx) => mineInSandbox(tx, account, 'litecoin', 1))
    const minedAt = process.hrtime.bigint()
    watcher.wake()
    return Number(BigInt((await told).toldAt) - minedAt) / 1e6
  }
  await payAll(
    gateway,
    account,
    sessions.map(({ payment }) => payment),
  )
  await decided(db)
  const holding = await mine(1)
  await decided(db)
  const reached: number[] = []
  for (let block = 2; block <= BLOCKS + 1; block++) {
    await sleep(2_000)
    reached.push(await mine(block))
  }
  const blocks = await server.rss()
  await watcher.stop()
  await Promise.all(settlers.map((settler) => settler.stop()))
  await ask({ close: true })

  const kilobytes = (rss: number) => ((rss - before) / pages / 1_024).toFixed(1)
  const slowest = Math.max(...reached)
  const isGood = (quiet - before) / pages <= BYTES_MAX && slowest <= MS_MAX
  process.stdout.write(
    `${pages} pages: ${kilobytes(quiet)} kB each (bar: at most ${BYTES_MAX / 1_024} kB); ` +
      `${kilobytes(opened)} when just opened, ${kilobytes(collected)} after a collection, ${kilobytes(blocks)} after the blocks; ` +
      `${(before / 2 ** 20).toFixed(0)} MB without pages\n` +
      `blocks reached them all in ${reached.map((ms) => ms.toFixed(0)).join(', ')} ms (bar: at most ${MS_MAX} ms), ` +
      `the one that holds all their payments in ${holding.toFixed(0)} ms: ${isGood ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = isGood ? 0 : 1
  await db.close()
} finally {
  for (const child of children) child.kill('SIGKILL')
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Node raises the soft limit to the hard one by itself. */
async function requireFiles(count: number): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8')
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1]
  if (hard === 'unlimited' || Number(hard) >= count) return
  throw new Error(`a process may open ${hard} files here, and ${count} are needed: ulimit -n ${count}`)
}

interface Checkout {
  readonly id: SessionId
  readonly payment: Payment
}

function startCheckouts(gateway: Gateway, account: Account): Promise<Checkout[]> {
  const request = {
    amountMinor: 4_999n,
    currency: 'USD',
    label: 'Order',
    reference: null,
    customerEmail: null,
    successUrl: null,
    cancelUrl: null,
    offeredAssets: null,
  } as const
  return inParallel(pages, () =>
    gateway.db.transaction(async (tx) => {
      const { id } = await createSession(gateway, tx, account, request)
      const payment = await pickCoin(gateway, tx, id, { asset: 'LTC', amountMinor: null, email: null })
      return { id, payment }
    }),
  )
}

/** Waits until everything seen so far was decided about. */
async function decided(db: Database): Promise<void> {
  for (;;) {
    const { rows } = await db.query<{ ready: bigint }>(
      `select count(*) as ready from payments where status = 'detected' and not decision_due`,
    )
    if (Number(rows[0]?.ready) === pages) return
    await sleep(500)
  }
}

async function payAll(gateway: Gateway, account: Account, payments: readonly Payment[]): Promise<void> {
  for (let start = 0; start < payments.length; start += 100) {
    await gateway.db.transaction(async (tx) => {
      for (const { id } of payments.slice(start, start + 100)) await payInSandbox(tx, account, id, {})
    })
  }
}

async function inParallel<Made>(count: number, make: () => Promise<Made>): Promise<Made[]> {
  const made: Made[] = []
  let begun = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (begun++ < count) made.push(await make())
    }),
  )
  return made
}

/** As `npm start` runs it, with an inspector beside it that can collect garbage. */
async function startApi(databaseUrl: string, port: number) {
  const program = fileURLToPath(new URL('../src/cli/beck.ts', import.meta.url))
  const flags = ['--inspect=127.0.0.1:0']
  const child = spawn(process.execPath, [...flags, program, '--json', 'start', '--role', 'api'], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      BECK_SECRET_KEY: TEST_SECRET_KEY.toString('hex'),
      BECK_DATA_DIR: join(folder, 'api'),
      BECK_LOG_LEVEL: 'warn',
      PORT: String(port),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const inspector = Promise.withResolvers<string>()
  createInterface(child.stderr).on('line', (line) => {
    const address = /ws:\S+/.exec(line)?.[0]
    if (address) inspector.resolve(address)
    else if (!/^(For help|Debugger)/.test(line)) process.stderr.write(`${line}\n`)
  })
  await once(child.stdout, 'data')
  const address = await inspector.promise
  return {
    async rss(): Promise<number> {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024
    },
    async collectGarbage(): Promise<void> {
      const socket = new WebSocket(address)
      await once(socket, 'open')
      const answered = once(socket, 'message')
      socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }))
      const [{ data }] = (await answered) as [{ data: string }]
      assert.deepEqual(JSON.parse(data), { id: 1, result: {} })
      socket.close()
    },
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
