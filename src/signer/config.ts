/** What the signer reads from its environment: the same variables as the server, and the ones that are its alone. */
import { closeSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Asset, isAsset, MAINNET_TOKENS, NETWORKS, type Network } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { readSecretKey } from '../core/secrets.ts'
import { HOUR_MS } from '../core/time.ts'
import { type NetworkMode, readNetworkMode } from '../wallets/derivation.ts'
import { type Limits, readLimits } from '../withdrawals/limits.ts'

export interface SignerConfig {
  readonly databaseUrl: string
  /** The signer's own directory. */
  readonly folder: string
  readonly keystorePath: string
  readonly secretKey: Buffer
  /** Accepted beside it while keys are changed. */
  readonly alsoSecretKey: Buffer | null
  readonly modes: Readonly<Record<Network, NetworkMode>>
  readonly tokens: Readonly<Record<'USDC' | 'USDT', string>>
  readonly limits: Limits
  /** How long an address must have stood on the allowlist; null when there is no allowlist. */
  readonly allowlistWaitMs: number | null
  /** Where the operator wants other confirmations than the asset's own before a deposit is spent. */
  readonly confirmations: Partial<Record<Asset, number>>
  readonly passphrase: string | null
}

type Environment = Readonly<Record<string, string | undefined>>

/** As the server reads the same variables. Of a passphrase every space counts. */
const trimmed = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value?.trim() || undefined]))

/** @throws {Refusal} naming the variable that is missing or cannot be read. */
export async function readSignerConfig(environment: Environment): Promise<SignerConfig> {
  const env = trimmed(environment)
  const required = (name: string): string => {
    const value = env[name]
    if (value) return value
    throw unusable(
      name,
      'is not set; the signer is started by `npx beck start`, or with the server’s environment',
    )
  }
  const dataDir = resolve(env.BECK_DATA_DIR ?? './data')
  return {
    databaseUrl: required('DATABASE_URL'),
    folder: resolve(dataDir, 'signer'),
    keystorePath: resolve(dataDir, 'keystore.json'),
    secretKey: readSecretKey(required('BECK_SECRET_KEY')),
    alsoSecretKey: env.BECK_SECRET_KEY_ALSO ? readSecretKey(env.BECK_SECRET_KEY_ALSO) : null,
    modes: Object.fromEntries(NETWORKS.map((network) => [network, modeOf(env, network)])) as Record<
      Network,
      NetworkMode
    >,
    tokens: {
      USDC: env.USDC_CONTRACT ?? MAINNET_TOKENS.USDC,
      USDT: env.USDT_CONTRACT ?? MAINNET_TOKENS.USDT,
    },
    limits: readLimits(env.BECK_SIGNER_LIMITS ?? ''),
    allowlistWaitMs: allowlistWaitMs(env),
    confirmations: confirmationsOf(env.BECK_CONFIRMATIONS ?? ''),
    passphrase: await passphraseOf(environment),
  }
}

function modeOf(env: Environment, network: Network): NetworkMode {
  const name = `${network.toUpperCase()}_NETWORK`
  const text = env[name] ?? 'mainnet'
  const mode = readNetworkMode(text)
  if (!mode) throw unusable(name, `is "${text}", expected mainnet, testnet (sepolia) or regtest (dev)`)
  return mode
}

function allowlistWaitMs(env: Environment): number | null {
  const text = env.BECK_SIGNER_ALLOWLIST_HOURS
  if (!text) return null
  if (!/^\d{1,4}$/.test(text))
    throw unusable('BECK_SIGNER_ALLOWLIST_HOURS', `is "${text}", expected whole hours`)
  return Number(text) * HOUR_MS
}

function confirmationsOf(text: string): Partial<Record<Asset, number>> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [asset = '', count = ''] = pair.split('=').map((part) => part.trim())
      if (!isAsset(asset) || !/^\d{1,4}$/.test(count))
        throw unusable('BECK_CONFIRMATIONS', `has "${pair}", expected pairs such as BTC=2,LTC=6`)
      return [asset, Number(count)]
    }),
  )
}

async function passphraseOf(env: Environment): Promise<string | null> {
  const handed = env.BECK_KEYSTORE_PASSPHRASE_FD
  if (handed) return readHanded(Number(handed))
  if (env.BECK_KEYSTORE_PASSPHRASE) return env.BECK_KEYSTORE_PASSPHRASE
  const path = env.BECK_KEYSTORE_PASSPHRASE_FILE
  if (!path) return null
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw unusable('BECK_KEYSTORE_PASSPHRASE_FILE', `names a file that cannot be read (${cause.code})`)
  })
  return text.replace(/\r?\n$/, '')
}

/** What the process that started this one hands over, once. */
function readHanded(descriptor: number): string {
  const text = readFileSync(descriptor, 'utf8')
  closeSync(descriptor)
  return text
}

const unusable = (name: string, problem: string): Refusal =>
  new Refusal('invalid', 'unusable_setting', `${name} ${problem}`)
