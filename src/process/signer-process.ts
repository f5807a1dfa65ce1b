/** The signer is a program of its own, and nothing here imports it: it is started, watched and ended. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import type { Store } from '../config/store.ts'
import type { Log } from '../core/log.ts'
import { startChild, superviseChild } from './watched-child.ts'

const PROGRAM = fileURLToPath(new URL('../signer/main.ts', import.meta.url))

/** Whether this copy of Beck has a signer. */
export const hasSigner = (): boolean => existsSync(PROGRAM)

/**
 * What the signer is told: the operator's environment, and the database and key that the settings led to. A variable
 * that is set to nothing is not set.
 */
const signerEnvironment = (config: Config, store: Store): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([, value]) => value?.trim())),
  DATABASE_URL: store.signerUrl,
  BECK_SECRET_KEY: store.secretKey.toString('hex'),
  ...(store.alsoSecretKey ? { BECK_SECRET_KEY_ALSO: store.alsoSecretKey.toString('hex') } : {}),
  BECK_DATA_DIR: config.dataDir,
})

/** One command of the signer, with the terminal it was called from. Resolves with its exit code. */
export async function runSigner(args: readonly string[], config: Config, store: Store): Promise<number> {
  const { ended } = startChild(PROGRAM, args, {
    env: signerEnvironment(config, store),
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  return (await ended) ?? 1
}

/** What the signer finds wrong with its settings and its keystore; null for nothing. */
export async function checkSigner(config: Config, store: Store): Promise<string | null> {
  const { process: signer, ended } = startChild(PROGRAM, ['check'], {
    env: signerEnvironment(config, store),
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
        stdio: ['ignore', 'inherit', 'inherit'],
        detached: true,
      }),
    log,
  )
