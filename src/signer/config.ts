/** What the signer reads from its environment: the same variables as the server, and the ones that are its alone. */
import { closeSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { readShared, type SharedSettings } from '../config/shared.ts'
import { type Environment, openVariables } from '../config/variables.ts'
import { NETWORKS, type Network } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { type NetworkMode, networkModeOf } from '../wallets/derivation.ts'

export interface SignerConfig extends SharedSettings {
  readonly databaseUrl: string
  readonly secretKey: Buffer
  /** The signer's own directory. */
  readonly folder: string
  readonly keystorePath: string
  readonly modes: Readonly<Record<Network, NetworkMode>>
  readonly passphrase: string | null
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
    passphrase: await passphraseOf(environment),
    dashboardUrl:
      environment.BECK_DASHBOARD_URL?.trim() ||
      environment.BECK_PUBLIC_URL?.trim() ||
      `http://localhost:${environment.PORT?.trim() || 8080}`,
  }
}

/** Of a passphrase every space counts. */
async function passphraseOf(env: Environment): Promise<string | null> {
  const handed = env.BECK_KEYSTORE_PASSPHRASE_FD
  if (handed) return readHanded(Number(handed))
  if (env.BECK_KEYSTORE_PASSPHRASE) return env.BECK_KEYSTORE_PASSPHRASE
  const path = env.BECK_KEYSTORE_PASSPHRASE_FILE
  return path ? readPassphrase(path, 'BECK_KEYSTORE_PASSPHRASE_FILE names a file') : null
}

/** @param what - How a refusal begins. */
export async function readPassphrase(path: string, what = path): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw new Refusal('invalid', 'invalid_settings', `${what} that cannot be read (${cause.code})`)
  })
  return text.replace(/\r?\n$/, '')
}

/** What the process that started this one hands over, once. */
function readHanded(descriptor: number): string {
  const text = readFileSync(descriptor, 'utf8')
  closeSync(descriptor)
  return text
}
