/** The PostgreSQL server process: started, watched, restarted when it dies, and found again when Beck died first. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { copyFile, open, readdir, readFile, readlink, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type EndingStep, endProcess, hasEnded } from '../../core/child-process.ts'
import { unavailable } from '../../core/errors.ts'
import { ifThere } from '../../core/files.ts'
import type { Log } from '../../core/log.ts'
import { type Backoff, backoffMs, pause } from '../../core/pause.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { as, type ClusterLocation } from './cluster-location.ts'
import { removeSockets } from './cluster-socket.ts'

/** After a crash on a slow disk, recovery takes its time; cut off, it would begin again at the next start. */
const START_LIMIT_MS = 600_000
const LATE_MS = 15_000
const FAST_STOP_LIMIT_MS = 30_000
const IMMEDIATE_STOP_LIMIT_MS = 10_000
/** Ends clients and writes a checkpoint; without that in time, stops at once and recovers at the next start. */
const STOP_STEPS: readonly EndingStep[] = [
  ['SIGINT', FAST_STOP_LIMIT_MS],
  ['SIGQUIT', IMMEDIATE_STOP_LIMIT_MS],
]
const RESTART_PAUSE: Backoff = { firstMs: 100, maxMs: 5_000 }
const LOG_BYTES_MAX = 10_000_000
const LOG_LOOK_MS = MINUTE_MS

interface Launch {
  readonly location: ClusterLocation
  readonly settings: readonly string[]
  /** Where PostgreSQL writes its log. */
  readonly logFile: string
}

export interface Postmaster {
  readonly pid: () => number | null
  stop(): Promise<void>
}

/** Starts the server and starts it again, with the same settings, whenever it ends by itself. */
export async function superviseServer(launch: Launch, log: Log): Promise<Postmaster> {
  const stopping = new AbortController()
  let child: ChildProcess | null = null
  let restarting: Promise<void> = Promise.resolve()
  const start = async () => {
    await removeSockets(launch.location.pgData)
    return startServer(launch, log, stopping.signal, (spawned) => {
      child = spawned
    })
  }
  const looking = setInterval(() => {
    shortenLog(launch.logFile).catch((error: unknown) =>
      log.warn({ err: error, file: launch.logFile }, "PostgreSQL's log can not be kept short"),
    )
  }, LOG_LOOK_MS)
  looking.unref()
  // Should Beck end without closing in order, PostgreSQL is at least told; kill -9 leaves it to the next start.
  const atExit = () => child?.kill('SIGINT')
  process.once('exit', atExit)
  const leave = () => {
    clearInterval(looking)
    process.off('exit', atExit)
  }

  const watch = (server: ChildProcess) =>
    server.once('exit', (code, signal) => {
      if (stopping.signal.aborted) return
      log.error({ code, signal }, 'PostgreSQL ended by itself; it is started again')
      restarting = restart()
    })
  const restart = async () => {
    for (let failures = 1; !stopping.signal.aborted; failures++) {
      try {
        await stopOrphans(launch.location.pgData)
        watch(await start())
        if (!stopping.signal.aborted) log.info({ pid: child?.pid }, 'PostgreSQL runs again')
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        log.error({ err: error, failures }, 'PostgreSQL did not start; it is tried again')
        await pause(backoffMs(failures, RESTART_PAUSE))
      }
    }
  }
  try {
    watch(await start())
  } catch (error) {
    leave()
    throw error
  }

  return {
    pid: () => (child && !hasEnded(child) ? (child.pid ?? null) : null),
    async stop() {
      stopping.abort()
      await restarting
      if (child) await endProcess(child, STOP_STEPS)
      leave()
    },
  }
}

async function startServer(
  { location, settings, logFile }: Launch,
  told: Log,
  stopping: AbortSignal,
  spawned: (child: ChildProcess) => void,
): Promise<ChildProcess> {
  await shortenLog(logFile)
  const log = openSync(logFile, 'a', 0o600)
  const logStart = fstatSync(log).size
  let child: ChildProcess
  try {
    child = spawn(
      location.postgres,
      ['-D', location.pgData, ...settings.flatMap((setting) => ['-c', setting])],
      // A session of its own: Ctrl-C in the terminal must not stop the database before Beck has finished with it.
      { ...as(location.owner), detached: true, stdio: ['ignore', log, log] },
    )
  } finally {
    closeSync(log)
  }
  spawned(child)
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })
  const startedAtMs = performance.now()
  let isLate = false
  // The same sign of readiness that pg_ctl waits for: line 8 of postmaster.pid.
  while (!(await isReady(location.pgData, child.pid))) {
    if (failure || hasEnded(child)) {
      const said = await readFrom(logFile, logStart)
      throw new Error(
        `PostgreSQL ended with code ${child.exitCode} while starting: ${failure?.message ?? ''}\n${said}`,
      )
    }
    const tookMs = performance.now() - startedAtMs
    if (stopping.aborted || tookMs > START_LIMIT_MS) {
      await endProcess(child, STOP_STEPS)
      throw new Error(`PostgreSQL was not ready within ${Math.round(tookMs / 1_000)} s; see ${logFile}`)
    }
    if (tookMs > LATE_MS && !isLate)
      told.warn(
        { log: logFile },
        'PostgreSQL is not ready yet; after a crash it recovers, which takes its time',
      )
    isLate = tookMs > LATE_MS
    await pause(10)
  }
  return child
}

async function isReady(pgData: string, pid: number | undefined): Promise<boolean> {
  const lines = await pidFile(pgData)
  return lines !== null && Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

async function pidFile(pgData: string): Promise<string[] | null> {
  const text = await readFile(join(pgData, 'postmaster.pid'), 'utf8').catch(() => null)
  return text === null ? null : text.split('\n')
}

/**
 * Ends whatever an earlier Beck, killed without a chance to close, left running on this cluster. Only called under the
 * directory's lock, so nobody alive owns it. A process counts as ours when it is PostgreSQL and works in the cluster's
 * directory, as each of its processes does, or was started on it. A process id that merely stands in a stale file does
 * not count, nor does the shell of somebody who looks into the directory.
 */
export async function stopOrphans(pgData: string): Promise<void> {
  const pid = Number((await pidFile(pgData))?.[0])
  if (!Number.isInteger(pid)) return
  // Only the postmaster is asked: it ends the rest in order. Without one they end by themselves.
  const steps = [
    { atMs: 0, tell: (orphan: number) => orphan === pid && kill(orphan, 'SIGINT') },
    { atMs: FAST_STOP_LIMIT_MS, tell: (orphan: number) => kill(orphan, 'SIGQUIT') },
    { atMs: FAST_STOP_LIMIT_MS + IMMEDIATE_STOP_LIMIT_MS, tell: (orphan: number) => kill(orphan, 'SIGKILL') },
  ]
  const startedAtMs = performance.now()
  for (let taken = 0; ; ) {
    const orphans = await processesOn(pgData)
    if (orphans.length === 0) break
    const elapsedMs = performance.now() - startedAtMs
    const step = steps[taken]
    if (step && elapsedMs >= step.atMs) {
      for (const orphan of orphans) step.tell(orphan)
      taken += 1
    }
    if (elapsedMs > FAST_STOP_LIMIT_MS + 2 * IMMEDIATE_STOP_LIMIT_MS) {
      throw unavailable(
        'orphaned_database',
        `PostgreSQL processes of an earlier run on ${pgData} do not end (${orphans.join(', ')}); end them and start again`,
      )
    }
    await pause(20)
  }
  // Nothing of this cluster runs, so the file is stale; another process may have its number by now, and PostgreSQL
  // would refuse to start for its sake.
  await rm(join(pgData, 'postmaster.pid'), { force: true })
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended in between.
  }
}

async function processesOn(pgData: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => null)
  if (names === null) {
    const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,command='], { maxBuffer: 2 ** 24 })
    return postmastersAmong(stdout, pgData)
  }
  const pids = names.filter((name) => /^\d+$/.test(name))
  const ours = await Promise.all(
    pids.map(async (pid) => {
      // In a container, root may not look into another user's process, but it may read how that was started.
      const [program = '', ...args] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split(
        '\0',
      )
      // The children of the postmaster put what they do in the place of its path.
      if (!program.endsWith('/postgres') && !program.startsWith('postgres:')) return false
      if ((await readlink(`/proc/${pid}/cwd`).catch(() => null)) === pgData) return true
      return args[0] === '-D' && args[1] === pgData
    }),
  )
  return pids.filter((_, index) => ours[index]).map(Number)
}

/** Without /proc, as on a Mac, a postmaster alone can be told, by how it was started; its children end with it. */
export const postmastersAmong = (processes: string, pgData: string): number[] =>
  processes
    .split('\n')
    .filter((line) => `${line} `.includes(`/postgres -D ${pgData} `))
    .map((line) => Number.parseInt(line, 10))

/**
 * Puts a long log aside, so that two of them are kept at most. PostgreSQL has it open for appending: what it says next begins the
 * short one.
 */
async function shortenLog(file: string): Promise<void> {
  const found = await ifThere(stat(file))
  if (!found || found.size < LOG_BYTES_MAX) return
  const aside = `${file}.1`
  // Where the disk is full, the database needs the room more.
  await copyFile(file, aside, constants.COPYFILE_FICLONE).catch(() => rm(aside, { force: true }))
  await truncate(file)
}

async function readFrom(file: string, start: number): Promise<string> {
  const handle = await open(file)
  try {
    const buffer = Buffer.alloc(4_096)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
