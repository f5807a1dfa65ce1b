/** What the signer reads from its environment: the same variables as the server, and the ones that are its alone. */
import { closeSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { readShared, type SharedSettings } from '../config/shared.ts'
import { type Environment, openVariables } from '../config/variables.ts'
import { NETWORKS, type Network } from '../core/assets.ts'
import { invalid } from '../core/errors.ts'
import { type NetworkMode, networkModeOf } from '../wallets/derivation.ts'

export interface SignerConfig extends SharedSettings {
  readonly databaseUrl: string
  readonly secretKey: Buffer
  /** The signer's own directory. */
  readonly folder: string
  readonly keystorePath: string
  readonly modes: Readonly<Record<Network, NetworkMode>>
  /** Whoever opened the keystore with it for good fills it with zeros. */
  readonly passphrase: Buffer | null
  /** Where the dashboard is, and its passkeys belong: what the server reads too, if this machine has it. */
  readonly dashboardUrl: string
}

/** @throws {Refusal} naming the variables that are missing or cannot be read. */
export async function readSignerConfig(environment: Environment): Promise<SignerConfig> {
  const { read, report, refuseIfAny } = openVariables(environment)
  const shared = readShared(read)
  const required = <Value>(name: string, value: Value | null, instead: Value): Value => {
    if (!environment[name]?.trim())
      report(
        `${name} is not set; the signer is started by \`npx beck start\`, or with the server’s environment`,
      )
    return value ?? instead
  }
  const databaseUrl = required('DATABASE_URL', shared.databaseUrl, '')
  const secretKey = required('BECK_SECRET_KEY', shared.secretKey, Buffer.alloc(0))
  refuseIfAny()
  return {
    ...shared,
    databaseUrl,
    secretKey,
    folder: resolve(shared.dataDir, 'signer'),
    keystorePath: resolve(shared.dataDir, 'keystore.json'),
    modes: Object.fromEntries(
      NETWORKS.map((network) => [network, networkModeOf(shared.networks[network])]),
    ) as Record<Network, NetworkMode>,
    passphrase: passphraseOf(environment),
    dashboardUrl:
      environment.BECK_DASHBOARD_URL?.trim() ||
      environment.BECK_PUBLIC_URL?.trim() ||
      `http://localhost:${environment.PORT?.trim() || 8080}`,
  }
}

/** Of a passphrase every space counts. */
function passphraseOf(env: Environment): Buffer | null {
  const handed = env.BECK_KEYSTORE_PASSPHRASE_FD
  if (handed) return readHanded(Number(handed))
  if (env.BECK_KEYSTORE_PASSPHRASE) return Buffer.from(env.BECK_KEYSTORE_PASSPHRASE)
  const path = env.BECK_KEYSTORE_PASSPHRASE_FILE
  return path ? readPassphrase(path, 'BECK_KEYSTORE_PASSPHRASE_FILE names a file') : null
}

/** @param what - How a refusal begins. */
export function readPassphrase(path: string, what = path): Buffer {
  const bytes = readFrom(path, what)
  const end = bytes.at(-1) !== LINE_FEED ? 0 : bytes.at(-2) === CARRIAGE_RETURN ? 2 : 1
  return bytes.subarray(0, bytes.length - end)
}

function readFrom(path: string, what: string): Buffer {
  try {
    return readHanded(openSync(path, 'r'))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw invalid('invalid_settings', `${what} that cannot be read (${code})`)
  }
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const PASSPHRASE_BYTES_MAX = 65_536

/** A file, or what the process that started this one hands over, once; into a single buffer, so that nothing else has to be wiped. */
function readHanded(descriptor: number): Buffer {
  const bytes = Buffer.alloc(PASSPHRASE_BYTES_MAX)
  let length = 0
  try {
    for (let read = 1; read > 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null)
  } finally {
    closeSync(descriptor)
  }
  return bytes.subarray(0, length)
}
