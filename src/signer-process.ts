/** The signer is a program of its own, and nothing here imports it: it is started, watched and ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE } from './compile-cache.ts'
import type { Config } from './config.ts'
import type { Log } from './core/log.ts'
import type { Store } from './store.ts'

const PROGRAM = fileURLToPath(new URL('./signer/main.ts', import.meta.url))
const END_WITH_PARENT = new URL('./end-with-parent.ts', import.meta.url).href
const RESTART_PAUSE_MS_MAX = 10_000
const STOP_LIMIT_MS = 15_000

/** Whether this copy of Beck has a signer. */
export const hasSigner = (): boolean => existsSync(PROGRAM)

/**
 * What the signer is told: the operator's environment, and the database and key that the settings led to. A variable
 * that is set to nothing is not set.
 */
const signerEnvironment = (config: Config, store: Store): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([, value]) => value?.trim())),
  NODE_COMPILE_CACHE: COMPILE_CACHE,
  DATABASE_URL: store.url,
  BECK_SECRET_KEY: store.secretKey.toString('hex'),
  BECK_DATA_DIR: config.dataDir,
})

/** One command of the signer, with the terminal it was called from. Resolves with its exit code. */
export async function runSigner(args: readonly string[], config: Config, store: Store): Promise<number> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: signerEnvironment(config, store),
    stdio: 'inherit',
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

/** Runs the signer until `stop`, and starts it again when it ends by itself. */
export function superviseSigner(config: Config, store: Store, log: Log): { stop(): Promise<void> } {
  let child: ChildProcess | null = null
  let timer: NodeJS.Timeout | undefined
  let stopping = false
  let failures = 0

  const start = () => {
    // A session of its own: Ctrl-C in the terminal ends Beck, and Beck ends the signer when it is done with it.
    child = spawn(process.execPath, ['--import', END_WITH_PARENT, PROGRAM, 'run'], {
      env: signerEnvironment(config, store),
      stdio: ['pipe', 'inherit', 'inherit'],
      detached: true,
    })
    const startedAtMs = Date.now()
    child.once('error', (error) => log.error({ err: error }, 'the signer could not be started'))
    child.once('exit', (code, signal) => {
      if (stopping) return
      failures = Date.now() - startedAtMs > 60_000 ? 0 : failures + 1
      log.error({ code, signal, failures }, 'the signer ended by itself; it is started again')
      timer = setTimeout(start, Math.min(RESTART_PAUSE_MS_MAX, 250 * 2 ** failures))
    })
  }
  start()
  const atExit = () => child?.kill('SIGTERM')
  process.once('exit', atExit)

  return {
    async stop() {
      stopping = true
      clearTimeout(timer)
      process.off('exit', atExit)
      if (child) await endProcess(child, STOP_LIMIT_MS)
    },
  }
}

/** Asks a process to end in order, and ends it after the limit. */
async function endProcess(child: ChildProcess, limitMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  await ended
  clearTimeout(timer)
}
