/** The PostgreSQL server process: started, watched, restarted when it dies, and found again when Beck died first. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, renameSync } from 'node:fs'
import { open, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { ClusterPlace } from './cluster-place.ts'

const START_LIMIT_MS = 60_000
const FAST_STOP_LIMIT_MS = 30_000
const RESTART_PAUSE_MS_MAX = 5_000
const LOG_BYTES_MAX = 10_000_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Launch {
  readonly place: ClusterPlace
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
  let stopping = false
  let child = await startServer(launch)
  let restarting: Promise<void> = Promise.resolve()

  const watch = (server: ChildProcess) =>
    server.once('exit', (code, signal) => {
      if (stopping) return
      log.error({ code, signal }, 'PostgreSQL ended by itself; it is started again')
      restarting = restart()
    })
  const restart = async () => {
    for (let failures = 0; !stopping; failures++) {
      try {
        await stopOrphans(launch.place.pgData)
        child = await startServer(launch)
        watch(child)
        if (!stopping) log.info({ pid: child.pid }, 'PostgreSQL runs again')
        return
      } catch (error) {
        log.error({ err: error, failures }, 'PostgreSQL did not start; it is tried again')
        await pause(Math.min(RESTART_PAUSE_MS_MAX, 100 * 2 ** Math.min(failures, 8)))
      }
    }
  }
  watch(child)
  // Should Beck end without closing in order, PostgreSQL is at least told; kill -9 leaves it to the next start.
  const atExit = () => child.kill('SIGINT')
  process.once('exit', atExit)

  return {
    pid: () => (hasEnded(child) ? null : (child.pid ?? null)),
    async stop() {
      stopping = true
      await restarting
      await endServer(child)
      process.off('exit', atExit)
    },
  }
}

async function startServer({ place, settings, logFile }: Launch): Promise<ChildProcess> {
  const log = openLog(logFile)
  const logStart = fstatSync(log).size
  let child: ChildProcess
  try {
    child = spawn(
      place.postgres,
      ['-D', place.pgData, ...settings.flatMap((setting) => ['-c', setting])],
      // A session of its own: Ctrl-C in the terminal must not stop the database before Beck has finished with it.
      { ...place.owner, cwd: '/', detached: true, stdio: ['ignore', log, log] },
    )
  } finally {
    closeSync(log)
  }
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })
  const startedAtMs = Date.now()
  // The same sign of readiness that pg_ctl waits for: line 8 of postmaster.pid.
  while (!(await isReady(place.pgData, child.pid))) {
    if (failure || hasEnded(child)) {
      const told = await readFrom(logFile, logStart)
      throw new Error(
        `PostgreSQL ended with code ${child.exitCode} while starting: ${failure?.message ?? ''}\n${told}`,
      )
    }
    if (Date.now() - startedAtMs > START_LIMIT_MS) {
      await endServer(child)
      throw new Error(`PostgreSQL was not ready within ${START_LIMIT_MS / 1000} s; see ${logFile}`)
    }
    await pause(10)
  }
  return child
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** Ends clients and writes a checkpoint (SIGINT); without that in time, stops at once and recovers at the next start. */
async function endServer(child: ChildProcess): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGINT')
  const timer = setTimeout(() => child.kill('SIGQUIT'), FAST_STOP_LIMIT_MS)
  await ended
  clearTimeout(timer)
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
 * directory's lock, so nobody alive owns it. A process counts as ours when it works in the cluster's directory, as
 * every PostgreSQL process does, or was started on it; a process id that merely stands in a stale file does not.
 */
export async function stopOrphans(pgData: string): Promise<void> {
  const pid = Number((await pidFile(pgData))?.[0])
  if (!Number.isInteger(pid)) return
  const startedAtMs = Date.now()
  for (let signal: NodeJS.Signals | null = 'SIGINT'; ; ) {
    const orphans = await processesOn(pgData)
    if (orphans.length === 0) break
    const elapsedMs = Date.now() - startedAtMs
    if (elapsedMs > FAST_STOP_LIMIT_MS + 10_000) {
      throw new Refusal(
        'unavailable',
        'orphaned_database',
        `PostgreSQL processes of an earlier run on ${pgData} do not end (${orphans.join(', ')}); end them and start again`,
      )
    }
    if (signal === 'SIGINT') {
      // Only the postmaster: it ends the rest in order. Without one they end by themselves.
      for (const orphan of orphans) if (orphan === pid) kill(orphan, signal)
      signal = 'SIGQUIT'
    } else if (signal === 'SIGQUIT' && elapsedMs > FAST_STOP_LIMIT_MS) {
      for (const orphan of orphans) kill(orphan, signal)
      signal = null
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
  // Without /proc, PostgreSQL's own check of its pid file and shared memory has to do.
  if (names === null) return []
  const pids = names.filter((name) => /^\d+$/.test(name))
  const ours = await Promise.all(
    pids.map(async (pid) => {
      if ((await readlink(`/proc/${pid}/cwd`).catch(() => null)) === pgData) return true
      // In a container, root may not look into another user's process, but it may read how that was started.
      const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
      return args[0]?.endsWith('/postgres') === true && args[1] === '-D' && args[2] === pgData
    }),
  )
  return pids.filter((_, index) => ours[index]).map(Number)
}

/** Opens the log for appending; a long one is put aside first, so that two of them are kept at most. */
function openLog(file: string): number {
  const log = openSync(file, 'a', 0o600)
  if (fstatSync(log).size < LOG_BYTES_MAX) return log
  closeSync(log)
  renameSync(file, `${file}.1`)
  return openSync(file, 'a', 0o600)
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
