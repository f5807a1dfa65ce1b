/**
 * Programs of Beck's own as children: each ends with its parent, and is ended when it hangs on its way out. Node's
 * shutdown can wait for a compiler thread that waits for it (nodejs/node#54918); nothing in the process itself can help
 * then.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { endProcess, hasEnded } from '../core/child-process.ts'
import type { Log } from '../core/log.ts'
import { type Backoff, backoffMs } from '../core/pause.ts'
import { COMPILE_CACHE } from './compile-cache.ts'

const TIE = new URL('./child-tie.ts', import.meta.url).href
/** After its last words a process has nothing left to do. */
const EXIT_LIMIT_MS = 5_000
const STOP_LIMIT_MS = 15_000
const RESTART_PAUSE: Backoff = { firstMs: 250, maxMs: 10_000 }
/** Who ran for so long and then ends has a new trouble, not the old one. */
const STEADY_MS = 60_000

export interface ChildOptions {
  readonly env: NodeJS.ProcessEnv
  /** Standard input, output and error. */
  readonly stdio: readonly ['ignore' | 'inherit' | 'pipe', 'inherit', 'inherit' | 'pipe']
  /** A session of its own: Ctrl-C in the terminal reaches the parent alone. */
  readonly detached?: boolean
  readonly exitLimitMs?: number
  /** Handed over on descriptor 4, for an environment can be read for as long as its process lives. */
  readonly secret?: string | null
}

export interface WatchedChild {
  readonly process: ChildProcess
  /** Its exit code, the one it meant to end with if it had to be killed on its way out; null for another death. */
  readonly ended: Promise<number | null>
}

/** Starts a TypeScript program under this Node. */
export function startChild(program: string, args: readonly string[], options: ChildOptions): WatchedChild {
  const { env, stdio, detached = false, exitLimitMs = EXIT_LIMIT_MS, secret = null } = options
  const child = spawn(process.execPath, ['--import', TIE, program, ...args], {
    env: { ...env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    stdio: [...stdio, 'pipe', secret === null ? 'ignore' : 'pipe'],
    detached,
  })
  const handed = child.stdio[4]
  if (secret !== null && handed && 'end' in handed) handed.on('error', () => {}).end(secret)
  let meant: number | null = null
  child.stdio[3]
    ?.on('error', () => {})
    .once('data', (told: Buffer) => {
      meant = Number.parseInt(told.toString(), 10)
      const timer = setTimeout(() => child.kill('SIGKILL'), exitLimitMs)
      child.once('exit', () => clearTimeout(timer))
    })
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code ?? meant))
    child.once('error', () => {
      if (child.pid === undefined) resolve(null)
    })
  })
  return { process: child, ended }
}

/**
 * Runs a child until `stop`, and starts it again when it ends by itself or cannot be started.
 *
 * @param name - As the log calls it: "the signer".
 * @param stopLimitMs - How long it may take to end in order.
 */
export function superviseChild(
  name: string,
  start: () => WatchedChild,
  log: Log,
  stopLimitMs = STOP_LIMIT_MS,
): { stop(): Promise<void> } {
  let child: ChildProcess | null = null
  let timer: NodeJS.Timeout | undefined
  let stopping = false
  let failures = 0

  const run = () => {
    const startedAtMs = performance.now()
    const again = (fields: object) => {
      if (stopping) return
      failures = performance.now() - startedAtMs > STEADY_MS ? 0 : failures + 1
      log.error({ ...fields, failures }, `${name} ended by itself; it is started again`)
      timer = setTimeout(run, backoffMs(failures + 1, RESTART_PAUSE))
    }
    try {
      const started = start().process
      child = started
      started.once('error', (error) => {
        if (started.pid === undefined) again({ err: error })
      })
      started.once('exit', (code, signal) => again({ code, signal }))
    } catch (error) {
      again({ err: error })
    }
  }
  run()
  const atExit = () => child?.kill('SIGTERM')
  process.once('exit', atExit)

  return {
    async stop() {
      stopping = true
      clearTimeout(timer)
      process.off('exit', atExit)
      if (child && !hasEnded(child)) await endProcess(child, [['SIGTERM', stopLimitMs]])
    },
  }
}
