/** The machine: Node, settings, the data directory and its disk, the keystore as a file. The signer alone opens it. */
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { ASSETS } from '../../core/assets.ts'
import { messageOf } from '../../core/errors.ts'
import { riskySettings } from '../risky-settings.ts'
import { type Finding, fine, warning, wrong } from './finding.ts'

const NODE_MAJOR_MIN = 24
/** PostgreSQL stops when it can not write its log. */
const FREE_MB_MIN = 200
const FREE_MB_ENOUGH = 2_000

export function nodeVersion(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return major >= NODE_MAJOR_MIN
    ? fine('node', `version ${process.versions.node}`)
    : wrong(
        'node',
        `version ${process.versions.node}`,
        'run Beck through npm, which brings Node 24: npx beck …',
      )
}

export function* settings(config: Config): Generator<Finding> {
  const { publicUrl } = config.settings
  const isLocal = /^http:\/\/(localhost|127\.)/.test(publicUrl)
  const hasNodes = Object.values(config.nodes).some((node) => node !== null)
  yield fine('settings', `data in ${config.dataDir}, pages at ${publicUrl}`)
  if (isLocal && hasNodes)
    yield warning(
      'settings',
      `BECK_PUBLIC_URL is ${publicUrl}, which no buyer can open`,
      'set it to the address that your proxy serves over HTTPS',
    )
  for (const { message, advice } of riskySettings(config)) yield warning('settings', message, advice)
  for (const name of config.unknownVariables)
    yield warning('settings', `${name} means nothing to Beck`, 'is it a slip? README.md lists the variables')
}

export async function disk(config: Config): Promise<Finding> {
  try {
    const { bavail, bsize } = await statfs(config.dataDir)
    const freeMb = Math.floor((bavail * bsize) / 1_000_000)
    if (freeMb < FREE_MB_MIN)
      return wrong('disk', `${freeMb} MB are free for ${config.dataDir}`, 'make room before writes fail')
    if (freeMb < FREE_MB_ENOUGH)
      return warning('disk', `${freeMb} MB are free for ${config.dataDir}`, 'make room soon')
    return fine('disk', `${(freeMb / 1_000).toFixed(1)} GB are free for the data directory`)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (isMissing && config.databaseUrl)
      return fine('disk', `there is no ${config.dataDir}; with DATABASE_URL only the signer needs it`)
    return wrong('disk', messageOf(error), 'let Beck read and write BECK_DATA_DIR')
  }
}

/** Who reads these can read the database, forge its rows, or learn who was paid what. */
export async function* privateFiles({ dataDir }: Config): AsyncGenerator<Finding> {
  for (const name of ['secret.key', 'database.json', 'signer/journal']) {
    const file = join(dataDir, name)
    const found = await stat(file).catch(() => null)
    if (isOpen(found?.mode)) yield openToOthers('files', file)
  }
}

const isOpen = (mode = 0): boolean => (mode & 0o077) !== 0

const openToOthers = (about: string, file: string): Finding =>
  warning(about, `${file} can be read by other users`, `run: chmod 600 ${file}`)

const mayRead = (path: string): Promise<boolean> =>
  access(path, constants.R_OK).then(
    () => true,
    () => false,
  )

/** Who needs a keystore, and may have it elsewhere. */
interface KeystoreNeed {
  /** Whether a live account or a node is there, so that somebody will want to be paid. */
  readonly isNeeded: boolean
  /** Whether live wallets are published: somebody has, or had, the keys. */
  readonly hasWallet: boolean
  /** Anywhere: where it has a user or a machine of its own, its keystore is not seen from here. */
  readonly signerRuns: boolean
}

/** @param check - What the signer finds wrong when it opens the keystore; null for nothing. */
export async function* keystore(
  config: Config,
  environment: NodeJS.ProcessEnv,
  need: KeystoreNeed,
  check: () => Promise<string | null>,
): AsyncGenerator<Finding> {
  const file = join(config.dataDir, 'keystore.json')
  const found = await stat(file).catch(() => null)
  if (!found) return yield withoutKeystore(need)
  yield await readableOnlyHere(file, found.mode)
  yield* passphrase(environment, check)
  yield limits(config)
  if (need.isNeeded) yield* sharedWithServer(config, file, environment)
}

function withoutKeystore({ isNeeded, hasWallet, signerRuns }: KeystoreNeed): Finding {
  if (hasWallet)
    return signerRuns
      ? fine('keystore', 'none in this data directory; the signer that runs says below if it lacks its own')
      : warning(
          'keystore',
          'live wallets are published, there is no keystore in this data directory, and no signer runs elsewhere',
          'start the signer where its keystore is; where the file is lost, make it again from the 24 words: npx beck wallet init --restore',
        )
  return isNeeded
    ? warning(
        'keystore',
        'there is none, and no live wallet was ever published: live accounts cannot be paid',
        'where the signer is to run, run: npx beck wallet init',
      )
    : fine('keystore', 'none yet; test accounts need none')
}

/** With keystore and passphrase a thief of the server has the words; what limits the signer does not limit him. */
async function* sharedWithServer(
  config: Config,
  file: string,
  environment: NodeJS.ProcessEnv,
): AsyncGenerator<Finding> {
  const passphraseFile = environment.BECK_KEYSTORE_PASSPHRASE_FILE
  const knows = environment.BECK_KEYSTORE_PASSPHRASE
    ? true
    : passphraseFile !== undefined && (await mayRead(passphraseFile))
  const serves = Object.values(config.nodes).some((node) => node !== null)
  if (serves && knows && (await mayRead(file)))
    yield warning(
      'signer',
      'this user has the nodes of a server, the keystore and its passphrase: whoever takes over the server takes the words',
      'run the signer as a user of its own, better on a machine of its own: docs/operators.md, "The signer elsewhere"',
    )
}

async function readableOnlyHere(file: string, mode: number): Promise<Finding> {
  if (!(await mayRead(file)))
    return wrong('keystore', `${file} cannot be read by this user`, `run Beck as its owner, or chown ${file}`)
  if (isOpen(mode)) return openToOthers('keystore', file)
  return fine('keystore', `${file}; the 24 words, on paper and elsewhere, are its only backup`)
}

async function* passphrase(
  environment: NodeJS.ProcessEnv,
  check: () => Promise<string | null>,
): AsyncGenerator<Finding> {
  const file = environment.BECK_KEYSTORE_PASSPHRASE_FILE
  if (!environment.BECK_KEYSTORE_PASSPHRASE && !file)
    return yield warning(
      'passphrase',
      'neither BECK_KEYSTORE_PASSPHRASE nor BECK_KEYSTORE_PASSPHRASE_FILE is set here',
      'set one where the signer runs: withdrawals of live accounts wait without it',
    )
  const isFile = !environment.BECK_KEYSTORE_PASSPHRASE && file !== undefined
  const problem = isFile ? await access(file, constants.R_OK).then(() => null, messageOf) : null
  if (problem !== null) return yield wrong('passphrase', problem, 'correct BECK_KEYSTORE_PASSPHRASE_FILE')
  const from = isFile ? file : 'BECK_KEYSTORE_PASSPHRASE'
  const refused = await check()
  yield refused === null
    ? fine('passphrase', `from ${from}; it opens the keystore`)
    : wrong('passphrase', `from ${from}: ${refused}`, 'correct it, or put the right keystore.json there')
  if (isFile && isOpen((await stat(file)).mode)) yield openToOthers('passphrase', file)
}

function limits(config: Config): Finding {
  const set = 'set it, for example BTC=tx:1,hour:2,day:5;USDC=tx:5000,hour:10000,day:50000'
  const unbounded = ASSETS.filter((asset) => !config.limits[asset]?.hour && !config.limits[asset]?.day)
  if (unbounded.length === 0) return fine('limits', 'BECK_SIGNER_LIMITS bounds what can leave of every coin')
  return unbounded.length === ASSETS.length
    ? warning(
        'limits',
        'BECK_SIGNER_LIMITS has no limit per hour or day: nothing bounds what a thief of this server could pay out',
        set,
      )
    : warning(
        'limits',
        `BECK_SIGNER_LIMITS gives ${unbounded.join(', ')} no limit per hour or day: a thief of this server could pay out all of it`,
        set,
      )
}
