/** The signer is a program of its own, and nothing here imports it: it is started, watched and ended. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import type { Store } from '../config/store.ts'
import type { Log } from '../core/log.ts'
import { childEnvironment, PASSPHRASE } from './child-environment.ts'
import { startChild, superviseChild } from './watched-child.ts'

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

/** What the signer is told: the operator's environment, with its own user of the database. */
const signerEnvironment = (config: Config, store: Store): NodeJS.ProcessEnv => ({
  ...childEnvironment(config, store, store.signerUrl),
  ...(passphrase() === null ? {} : { BECK_KEYSTORE_PASSPHRASE_FD: '4' }),
})

/** One command of the signer, with the terminal it was called from. Resolves with its exit code. */
export async function runSigner(args: readonly string[], config: Config, store: Store): Promise<number> {
  const { ended } = startChild(PROGRAM, args, {
    env: signerEnvironment(config, store),
    secret: passphrase(),
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  return (await ended) ?? 1
}

/** What the signer finds wrong with its settings and its keystore; null for nothing. */
export async function checkSigner(config: Config, store: Store): Promise<string | null> {
  const { process: signer, ended } = startChild(PROGRAM, ['check'], {
    env: signerEnvironment(config, store),
    secret: passphrase(),
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  let complaints = ''
  signer.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  return (await ended) === 0 ? null : complaints.trim() || 'the signer could not be started'
}

/** Runs the signer until `stop`, and starts it again when it ends by itself. */
export const superviseSigner = (config: Config, store: Store, log: Log): { stop(): Promise<void> } =>
  superviseChild(
    'the signer',
    () =>
      startChild(PROGRAM, ['run'], {
        env: signerEnvironment(config, store),
        secret: passphrase(),
        stdio: ['ignore', 'inherit', 'inherit'],
        detached: true,
      }),
    log,
  )
