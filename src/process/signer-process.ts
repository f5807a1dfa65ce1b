/** The signer is a program of its own, and nothing here imports it: it is started, watched and ended. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Store } from '../config/store.ts'
import type { Log } from '../core/log.ts'
import { childEnvironment, PASSPHRASE } from './child-environment.ts'
import { type ChildOptions, startChild, superviseChild } from './watched-child.ts'

/** Of every passphrase each space counts; one of nothing is none. */
const passphrase = (): string | null => kept ?? (process.env[PASSPHRASE] || null)
let kept: string | null = null

/**
 * Takes the passphrase out of the environment of a process that lives long, so that nothing it starts inherits it. What the
 * kernel shows of an environment in /proc is what the process was started with: a file is better.
 *
 * @returns Whether it was there.
 */
export function takePassphrase(): boolean {
  kept = process.env[PASSPHRASE] || null
  delete process.env[PASSPHRASE]
  return kept !== null
}

const PROGRAM = fileURLToPath(new URL('../signer/main.ts', import.meta.url))

/** Whether this copy of Beck has a signer. */
export const hasSigner = (): boolean => existsSync(PROGRAM)

/** It is told the operator's environment, with its own user of the database. */
function startSigner(store: Store, args: readonly string[], how: Pick<ChildOptions, 'stdio' | 'detached'>) {
  const secret = passphrase()
  const env = {
    ...childEnvironment(store, store.signerUrl),
    ...(secret === null ? {} : { BECK_KEYSTORE_PASSPHRASE_FD: '4' }),
  }
  return startChild(PROGRAM, args, { env, secret, ...how })
}

/** One command of the signer, with the terminal it was called from. Resolves with its exit code. */
export async function runSigner(args: readonly string[], store: Store): Promise<number> {
  const { ended } = startSigner(store, args, { stdio: ['inherit', 'inherit', 'inherit'] })
  return (await ended) ?? 1
}

/** What the signer finds wrong with its settings and its keystore; null for nothing. */
export async function checkSigner(store: Store): Promise<string | null> {
  const { process: signer, ended } = startSigner(store, ['check'], {
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  let complaints = ''
  signer.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  return (await ended) === 0 ? null : complaints.trim() || 'the signer could not be started'
}

/** Runs the signer until `stop`, and starts it again when it ends by itself. */
export const superviseSigner = (store: Store, log: Log): { stop(): Promise<void> } =>
  superviseChild(
    'the signer',
    () => startSigner(store, ['run'], { stdio: ['ignore', 'inherit', 'inherit'], detached: true }),
    log,
  )
