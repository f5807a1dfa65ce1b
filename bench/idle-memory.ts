/**
 * What each role holds in memory when it has nothing to do, and how long it takes to be ready: started as `npm start` does,
 * one after the other, on a PostgreSQL of its own.
 *
 *   node bench/idle-memory.ts [role…]
 *
 * The first start of each is not measured: it compiles modules, which later ones find compiled. The signer is two
 * processes, and `all` three: API, watchers and workers, signer. Bars: 130 MB a process,
 * ready within three seconds.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort, startCluster } from '../src/db/embedded/embedded.ts'
import { COMPILE_CACHE } from '../src/process/compile-cache.ts'
import { TEST_SECRET_KEY } from '../test/wallet.ts'
import { benchFolder } from './folder.ts'

const MB_MAX = 130
const READY_MS_MAX = 3_000
const IDLE_MS = 10_000
const ROLES = process.argv.length > 2 ? process.argv.slice(2) : ['api', 'worker', 'watcher', 'signer', 'all']
const PROGRAM = fileURLToPath(new URL('../src/cli/beck.ts', import.meta.url))

interface Figures {
  readonly readyMs: number
  /** Resident sets of the role's process and of those that it started. */
  readonly processes: readonly { readonly program: string; readonly megabytes: number }[]
}

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'postgres') })
try {
  const megabytesOf: number[] = []
  const readyMsOf: number[] = []
  for (const role of ROLES) {
    await run(role, 0)
    const { readyMs, processes } = await run(role, IDLE_MS)
    megabytesOf.push(...processes.map(({ megabytes }) => megabytes))
    readyMsOf.push(readyMs)
    const shown = processes.map(({ program, megabytes }) => `${program} ${megabytes.toFixed(0)} MB`)
    process.stdout.write(`${role}: ${shown.join(', ')}; ready after ${readyMs.toFixed(0)} ms\n`)
  }
  const [most, slowest] = [Math.max(...megabytesOf), Math.max(...readyMsOf)]
  const isGood = most <= MB_MAX && slowest <= READY_MS_MAX
  process.stdout.write(
    `the largest process ${most.toFixed(0)} MB (bar: at most ${MB_MAX}), the slowest ready after ${slowest.toFixed(0)} ms (at most ${READY_MS_MAX}): ${isGood ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = isGood ? 0 : 1
} finally {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function run(role: string, idleMs: number): Promise<Figures> {
  const began = performance.now()
  const child = spawn(process.execPath, [PROGRAM, 'start', '--role', role], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      DATABASE_URL: cluster.url('postgres'),
      BECK_SECRET_KEY: TEST_SECRET_KEY.toString('hex'),
      BECK_DATA_DIR: join(folder, role),
      BECK_SANDBOX_BLOCK_MS: '0',
      PORT: String(await freePort()),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ready = Promise.withResolvers<void>()
  createInterface(child.stderr).on('line', (line) => {
    if (line.includes('Beck is ready')) ready.resolve()
    if (!line.includes('"level":"info"')) process.stderr.write(`${line}\n`)
  })
  const ended = once(child, 'exit')
  await Promise.race([ready.promise, ended.then(() => assert.fail(`${role} ended by itself`))])
  const readyMs = performance.now() - began
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  const pids = [child.pid, ...(await childrenOf(child.pid))]
  const processes = await Promise.all(
    pids.map(async (pid) => ({ program: await programOf(pid), megabytes: await residentMegabytes(pid) })),
  )
  child.kill('SIGTERM')
  await ended
  return { readyMs, processes }
}

async function childrenOf(pid: number | undefined): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

/** `beck.ts`, `background.ts`, or `signer/main.ts`. */
async function programOf(pid: number | undefined): Promise<string> {
  const parts = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
  return (
    /(signer\/)?[a-z-]+\.ts$/.exec(
      parts.find((part) => /src\/.*\.ts$/.test(part) && !part.includes('child-tie')) ?? '',
    )?.[0] ?? '?'
  )
}

async function residentMegabytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1e6
}
