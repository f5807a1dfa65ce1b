/** Beck's command line as people run it: processes of their own, which end with the test. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { waitFor } from './wait-for.ts'

const PROGRAM = fileURLToPath(new URL('../src/cli/beck.ts', import.meta.url))
/** Far longer than anything takes, on a machine that does much else. */
const LIMIT_MS = 120_000

export interface BeckProcess {
  readonly child: ChildProcess
  /** Objects of standard output so far. */
  readonly said: readonly Record<string, unknown>[]
  /** The first object that is so, said already or yet to come. */
  hears(is: (object: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>
  /** Standard error so far: the log. */
  log(): string
  /** Waits for the text on standard error. */
  complains(text: string): Promise<void>
  /** Ends it in order and checks that it did. */
  stop(): Promise<void>
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
}

/** A process may outlive the test that starts it, not the file. Its own processes end a moment later: who removes its folder tries again. */
const started: ChildProcess[] = []
after(() => {
  for (const child of started) child.kill('SIGKILL')
})

/** Runs `beck … --json`. @param program - Of another version. */
export function startBeckProcess(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  program = PROGRAM,
): BeckProcess {
  const child = spawn(process.execPath, [program, '--json', ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: Record<string, unknown>[] = []
  let complaints = ''
  let heard = Promise.withResolvers<void>()
  const hear = () => {
    heard.resolve()
    heard = Promise.withResolvers()
  }
  createInterface(child.stdout).on('line', (line) => {
    const object: Record<string, unknown> = JSON.parse(line)
    // Beck's log shares standard output with its answer; it has a level.
    if (!('level' in object)) said.push(object)
    hear()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
    hear()
  })
  const ended = once(child, 'exit').then(([code]) => {
    hear()
    return code as number | null
  })
  started.push(child)

  const until = async <Found>(find: () => Found | undefined): Promise<Found> => {
    const tooLate = AbortSignal.timeout(LIMIT_MS)
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      const isRunning = child.exitCode === null && child.signalCode === null && !tooLate.aborted
      assert.ok(isRunning, `beck ${args.join(' ')}: ${JSON.stringify(said)} ${complaints}`)
      await Promise.race([heard.promise, once(tooLate, 'abort')])
    }
  }
  return {
    child,
    said,
    hears: (is) => until(() => said.find(is)),
    log: () => complaints,
    complains: async (text) => {
      await until(() => complaints.includes(text) || undefined)
    },
    ended,
    async stop() {
      child.kill('SIGTERM')
      assert.equal(await ended, 0, complaints)
    },
  }
}

/** The process that a Beck started for a part of itself, once it runs. */
export const partOf = (beck: ChildProcess, program: 'signer/main.ts' | 'background.ts'): Promise<number> =>
  waitFor(program, async () => {
    const { stdout } = await promisify(execFile)('ps', [
      '--ppid',
      String(beck.pid),
      '-o',
      'pid=,args=',
    ]).catch(() => ({ stdout: '' }))
    const line = stdout.split('\n').find((each) => each.includes(program))
    return line ? Number.parseInt(line, 10) : null
  })
