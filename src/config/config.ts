/** The operator's settings, read from the environment once and checked as a whole. docs/operators.md explains each. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { getAddress, isAddress } from 'viem/utils'
import { BITCOIN_NETWORKS } from '../chains/bitcoin/networks.ts'
import type { EthereumNetwork } from '../chains/ethereum/network.ts'
import { SIMULATED_TOKENS } from '../chains/simulated/network.ts'
import { ASSETS, type Asset, isAsset, MAINNET_TOKENS } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { FIAT_DECIMALS, parseDecimal } from '../core/money.ts'
import { readNetworks } from '../core/networks.ts'
import { readSecretKey } from '../core/secrets.ts'
import type { GatewaySettings } from '../flows/gateway.ts'
import { fixedRates } from '../rates/fixed.ts'
import { readLimits } from '../withdrawals/limits.ts'

export interface NodeConfig<Network extends string = string> {
  readonly rpcUrl: string
  readonly network: Network
}

export interface EthereumConfig extends NodeConfig<EthereumNetwork> {
  readonly wsUrl: string | null
}

export interface Config {
  readonly port: number
  /** The address to listen on; null for all. */
  readonly host: string | null
  /** Where metrics are served; null for nowhere. */
  readonly monitor: { readonly host: string; readonly port: number; readonly isChosen: boolean } | null
  /** Absolute. Holds the embedded database, the secret key, the keystore and the signer's journal. */
  readonly dataDir: string
  /** An external PostgreSQL; null for the embedded one. */
  readonly databaseUrl: string | null
  /** The signer's own user of that database; null where it has the server's, or the embedded one's. */
  readonly signerDatabaseUrl: string | null
  readonly redisUrl: string | null
  /** Null where the operator connected no node. */
  readonly nodes: {
    readonly bitcoin: NodeConfig | null
    readonly litecoin: NodeConfig | null
    readonly ethereum: EthereumConfig | null
  }
  /** EIP-55 addresses. */
  readonly tokens: Readonly<Record<'USDC' | 'USDT', string>>
  /** Null when it is to be kept in the data directory. */
  readonly secretKey: Buffer | null
  /** Accepted beside it while keys are changed. */
  readonly alsoSecretKey: Buffer | null
  /** The text after `fixed:`; null for the market. */
  readonly fixedRates: string | null
  readonly settings: GatewaySettings
  /** Of a key. */
  readonly rateLimit: { readonly perSecond: number; readonly burst: number }
  /** Of an address, for requests without a good key. */
  readonly addressRateLimit: { readonly perSecond: number; readonly burst: number }
  /** Addresses and networks whose forwarded headers are believed, comma-separated. */
  readonly trustProxy: string | null
  /** Milliseconds from one simulated block to the next; 0 mines by hand only. */
  readonly sandboxBlockMs: number
  /** Whether the signer was given limits on what it pays out. */
  readonly hasSignerLimits: boolean
  readonly logLevel: string
  /** Variables that begin with BECK_ and mean nothing to Beck: slips of the pen. */
  readonly unknownVariables: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Read elsewhere: by the signer, and by `beck listen` and `beck trigger`. */
const OTHER_VARIABLES = ['BECK_API_KEY', 'BECK_KEYSTORE_PASSPHRASE', 'BECK_KEYSTORE_PASSPHRASE_FILE']

const ETHEREUM_NETWORKS = ['mainnet', 'sepolia', 'dev'] as const
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
/** Below what idempotent answers may take to settle. */
const BROADCAST_WAIT_MS = 3_000
/** That of Prometheus' own exporters. */
const METRICS_PORT = 9_464
const BPS_MAX = 9_999n
const CONFIRMATIONS_MAX = 1_000

/** @throws {Refusal} `invalid`, reason `invalid_settings`, listing every variable that is wrong, without secrets. */
export function readConfig(env: Environment): Config {
  const variables = openVariables(env)
  const { read } = variables

  const port = read('PORT', 8080, wholeNumber(1, 65_535), 'a port number from 1 to 65535')
  const host = read('BECK_HOST', null, addressOf, 'an address of this machine such as 127.0.0.1')
  const monitorPort = read(
    'BECK_METRICS_PORT',
    null,
    wholeNumber(0, 65_535),
    'a port number from 1 to 65535, or 0 for no metrics',
  )
  const monitorHost = read('BECK_METRICS_HOST', '127.0.0.1', addressOf, 'an address of this machine')
  const publicUrl = read(
    'BECK_PUBLIC_URL',
    `http://localhost:${port}`,
    publicUrlOf,
    'a URL such as https://pay.example.com',
  )
  const dashboardUrl = read(
    'BECK_DASHBOARD_URL',
    publicUrl,
    publicUrlOf,
    'a URL such as https://dashboard.example.com',
  )
  const databaseUrl = read(
    'DATABASE_URL',
    null,
    urlOf(['postgres:', 'postgresql:']),
    'postgres://user:password@host:port/database',
    hidden,
  )
  const signerDatabaseUrl = read(
    'BECK_SIGNER_DATABASE_URL',
    null,
    urlOf(['postgres:', 'postgresql:']),
    'postgres://user:password@host:port/database',
    hidden,
  )
  if (signerDatabaseUrl !== null && databaseUrl === null)
    variables.report(
      'BECK_SIGNER_DATABASE_URL is set without DATABASE_URL: the embedded database has a user for the signer',
    )
  const secretKey = read(
    'BECK_SECRET_KEY',
    null,
    secretKeyOf,
    '32 bytes, as 64 hexadecimal digits or as base64 (openssl rand -hex 32)',
    hidden,
  )
  const alsoSecretKey = read(
    'BECK_SECRET_KEY_ALSO',
    null,
    secretKeyOf,
    '32 bytes, as 64 hexadecimal digits or as base64',
    hidden,
  )
  if (alsoSecretKey !== null && secretKey?.equals(alsoSecretKey))
    variables.report(
      'BECK_SECRET_KEY_ALSO is the same key as BECK_SECRET_KEY; it is the one to come, or the one that goes',
    )
  if (databaseUrl !== null && secretKey === null) {
    variables.report(
      'BECK_SECRET_KEY is not set, and is required with DATABASE_URL: every Beck on that database needs the same one (openssl rand -hex 32)',
    )
  }
  const minFiatMinor = read('BECK_MIN_FIAT', 50n, fiatOf, 'an amount of fiat above zero such as 0.50')
  const maxFiatMinor = read(
    'BECK_MAX_FIAT',
    100_000_000n,
    fiatOf,
    'an amount of fiat above zero such as 1000000',
  )
  if (minFiatMinor > maxFiatMinor) variables.report('BECK_MIN_FIAT is above BECK_MAX_FIAT')
  const rateLimit = {
    perSecond: read(
      'BECK_RATE_LIMIT',
      100,
      wholeNumber(1, 1_000_000),
      'requests a second per key, from 1 to 1000000',
    ),
    burst: read(
      'BECK_RATE_BURST',
      200,
      wholeNumber(1, 1_000_000),
      'requests at once per key, from 1 to 1000000',
    ),
  }
  const addressRateLimit = {
    perSecond: read(
      'BECK_ADDRESS_RATE_LIMIT',
      100,
      wholeNumber(1, 1_000_000),
      'requests a second per address without a good key, from 1 to 1000000',
    ),
    burst: read(
      'BECK_ADDRESS_RATE_BURST',
      400,
      wholeNumber(1, 1_000_000),
      'requests at once per address without a good key, from 1 to 1000000',
    ),
  }
  const bps = 'hundredths of a percent, from 0 to 9999'
  const token =
    'the address of a token contract: 0x and 40 hexadecimal digits, its EIP-55 checksum right if it has one'

  const tokens = {
    USDC: read('USDC_CONTRACT', MAINNET_TOKENS.USDC, contractOf, token),
    USDT: read('USDT_CONTRACT', MAINNET_TOKENS.USDT, contractOf, token),
  }

  // The signer's own: what it cannot use is told here, at the start, not in its log.
  read('BECK_SIGNER_ALLOWLIST_HOURS', null, wholeNumber(0, 9_999), 'whole hours, from 0 to 9999')
  const hasSignerLimits = read(
    'BECK_SIGNER_LIMITS',
    false,
    limitsOf,
    'limits in whole coins such as BTC=tx:1,hour:5,day:20;ETH=tx:10',
  )

  const config: Config = {
    port,
    host,
    monitor:
      monitorPort === 0
        ? null
        : { host: monitorHost, port: monitorPort ?? METRICS_PORT, isChosen: monitorPort !== null },
    dataDir: resolve(read('BECK_DATA_DIR', './data', (text) => text, 'a directory')),
    databaseUrl,
    signerDatabaseUrl,
    redisUrl: read(
      'REDIS_URL',
      null,
      urlOf(['redis:', 'rediss:']),
      'redis://user:password@host:port',
      hidden,
    ),
    nodes: {
      bitcoin: nodeOf(read, 'BITCOIN', Object.keys(BITCOIN_NETWORKS.bitcoin), ['http:', 'https:']),
      litecoin: nodeOf(read, 'LITECOIN', Object.keys(BITCOIN_NETWORKS.litecoin), ['http:', 'https:']),
      ethereum: ethereumOf(read),
    },
    tokens,
    secretKey,
    alsoSecretKey,
    fixedRates: read(
      'BECK_RATES',
      { fixed: null },
      ratesOf,
      'market, or fixed: with pairs such as fixed:BTC/USD=65000,EUR/USD=1.08',
    ).fixed,
    settings: {
      publicUrl,
      dashboardUrl,
      feeBps: read('BECK_FEE_BPS', 100n, bpsOf, bps),
      payoutFeeBps: read('BECK_PAYOUT_FEE_BPS', 10n, bpsOf, bps),
      minFiatMinor,
      maxFiatMinor,
      tokenContracts: [...Object.values(tokens), ...Object.values(SIMULATED_TOKENS)],
      broadcastWaitMs: BROADCAST_WAIT_MS,
      webhookAllowPrivate: read('BECK_WEBHOOK_ALLOW_PRIVATE', false, yesOrNo, '1 or 0'),
      confirmations: read(
        'BECK_CONFIRMATIONS',
        {},
        confirmationsOf,
        `pairs such as BTC=2,LTC=6, each from 1 to ${CONFIRMATIONS_MAX}, of ${ASSETS.join(', ')}`,
      ),
    },
    rateLimit,
    addressRateLimit,
    trustProxy: read(
      'BECK_TRUST_PROXY',
      null,
      proxiesOf,
      'addresses or networks such as 10.0.0.0/8, comma-separated',
    ),
    sandboxBlockMs: read(
      'BECK_SANDBOX_BLOCK_MS',
      5_000,
      wholeNumber(0, 86_400_000),
      'milliseconds, 0 to mine by hand only',
    ),
    hasSignerLimits,
    logLevel: read(
      'BECK_LOG_LEVEL',
      'info',
      (text) => LOG_LEVELS.find((level) => level === text),
      `one of ${LOG_LEVELS.join(', ')}`,
    ),
    unknownVariables: variables.unknown(),
  }
  variables.refuseIfAny()
  return config
}

type Show = (text: string) => string

const plain: Show = (text) => `"${text.slice(0, 100)}"`
/** For what holds passwords, keys or tokens, be it in a URL's path. */
const hidden: Show = (text) => `a text of ${text.length} characters that is not shown`

type Read = <Value, Fallback>(
  name: string,
  fallback: Fallback,
  parse: (text: string) => Value | null | undefined,
  expected: string,
  show?: Show,
) => Value | Fallback

function openVariables(env: Environment) {
  const problems: string[] = []
  const known = new Set(OTHER_VARIABLES)
  const read: Read = (name, fallback, parse, expected, show = plain) => {
    known.add(name)
    const text = env[name]?.trim() ?? ''
    if (text === '') return fallback
    const value = parse(text)
    if (value !== null && value !== undefined) return value
    problems.push(`${name} is ${show(text)}, expected ${expected}`)
    return fallback
  }
  return {
    read,
    report: (problem: string) => problems.push(problem),
    unknown: () =>
      Object.keys(env).filter(
        (name) => /^BECK_(?!TEST_|CRASH_AT$)/.test(name) && env[name] !== '' && !known.has(name),
      ),
    refuseIfAny() {
      if (problems.length > 0) {
        throw new Refusal(
          'invalid',
          'invalid_settings',
          `settings that cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
        )
      }
    },
  }
}

function nodeOf(
  read: Read,
  name: string,
  networks: readonly string[],
  protocols: readonly string[],
): NodeConfig | null {
  const network = read(
    `${name}_NETWORK`,
    'mainnet',
    (text) => networks.find((known) => known === text),
    `one of ${networks.join(', ')}`,
  )
  const form = `${protocols[0]}//user:password@host:port`
  const rpcUrl = read(`${name}_RPC_URL`, null, urlOf(protocols), form, hidden)
  return rpcUrl === null ? null : { rpcUrl, network }
}

function ethereumOf(read: Read): EthereumConfig | null {
  const wsUrl = read('ETHEREUM_WS_URL', null, urlOf(['ws:', 'wss:']), 'ws://host:port', hidden)
  const node = nodeOf(read, 'ETHEREUM', ETHEREUM_NETWORKS, ['http:', 'https:', 'ws:', 'wss:'])
  const network = ETHEREUM_NETWORKS.find((known) => known === node?.network)
  return node && network ? { rpcUrl: node.rpcUrl, network, wsUrl } : null
}

const wholeNumber =
  (min: number, max: number) =>
  (text: string): number | null => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : null
  }

const urlOf =
  (protocols: readonly string[]) =>
  (text: string): string | null =>
    protocols.includes(URL.parse(text)?.protocol ?? '') ? text : null

function publicUrlOf(text: string): string | null {
  const url = URL.parse(text)
  const isPlain =
    url && ['http:', 'https:'].includes(url.protocol) && !url.search && !url.hash && !url.username
  return isPlain ? url.href.replace(/\/+$/, '') : null
}

function secretKeyOf(text: string): Buffer | null {
  try {
    return readSecretKey(text)
  } catch {
    return null
  }
}

function fiatOf(text: string): bigint | null {
  const minor = parseDecimal(text, FIAT_DECIMALS)
  return minor !== null && minor > 0n && minor < 10n ** 15n ? minor : null
}

function bpsOf(text: string): bigint | null {
  const value = /^\d{1,4}$/.test(text) ? BigInt(text) : BPS_MAX + 1n
  return value <= BPS_MAX ? value : null
}

const addressOf = (text: string): string | null => (isIP(text) > 0 ? text : null)

const contractOf = (text: string): string | null => (isAddress(text) ? getAddress(text) : null)

function ratesOf(text: string): { fixed: string | null } | null {
  if (text === 'market') return { fixed: null }
  const fixed = /^fixed:(.+)$/s.exec(text)?.[1]
  if (fixed === undefined) return null
  try {
    fixedRates(fixed)
    return { fixed }
  } catch {
    return null
  }
}

function limitsOf(text: string): boolean | null {
  try {
    return Object.keys(readLimits(text)).length > 0
  } catch {
    return null
  }
}

function yesOrNo(text: string): boolean | null {
  return /^(1|true|yes)$/i.test(text) ? true : /^(0|false|no)$/i.test(text) ? false : null
}

function confirmationsOf(text: string): Partial<Record<Asset, number>> | null {
  const counts: Partial<Record<Asset, number>> = {}
  for (const pair of text.split(',')) {
    const [asset = '', count = '', ...rest] = pair.split('=').map((part) => part.trim())
    const value = wholeNumber(1, CONFIRMATIONS_MAX)(count)
    if (!isAsset(asset) || value === null || rest.length > 0 || asset in counts) return null
    counts[asset] = value
  }
  return counts
}

function proxiesOf(text: string): string | null {
  const parts = text.split(',').map((part) => part.trim())
  return readNetworks(parts) ? parts.join(',') : null
}
