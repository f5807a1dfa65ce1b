/** The operator's settings, read from the environment once and checked as a whole. README.md lists them. */
import { SIMULATED_TOKENS } from '../chains/simulated/network.ts'
import { FIAT_DECIMALS, parseDecimal } from '../core/money.ts'
import { readNetworks } from '../core/networks.ts'
import type { GatewaySettings } from '../flows/gateway.ts'
import { KEPT_DAYS, type KeptDays } from '../flows/operation/ages.ts'
import { readSecurityContact } from '../http/security-contact.ts'
import { fixedRates } from '../rates/fixed.ts'
import { readMailSettings, readSingleSignOn } from './people.ts'
import { POSTGRES_URL_FORM, postgresUrlOf, readShared, type SharedSettings } from './shared.ts'
import { readTraces } from './traces.ts'
import {
  addressOf,
  type Environment,
  hidden,
  openVariables,
  orNull,
  type Read,
  urlOf,
  type Variables,
  wholeNumber,
  yesOrNo,
} from './variables.ts'

/** Read elsewhere: by the signer, and by `beck listen` and `beck trigger`. */
const OTHER_VARIABLES = [
  'BECK_API_KEY',
  'BECK_API_URL',
  'BECK_KEYSTORE_PASSPHRASE',
  'BECK_KEYSTORE_PASSPHRASE_FILE',
]

/** Below what idempotent answers may take to settle. */
const BROADCAST_WAIT_MS = 3_000
/** That of Prometheus' own exporters. */
const METRICS_PORT = 9_464
const BPS_MAX = 9_999n

export type Config = Readonly<ReturnType<typeof readConfig>>

/**
 * In one piece: the list of the settings.
 *
 * @throws {Refusal} `invalid`, reason `invalid_settings`, listing every variable that is wrong, without secrets.
 */
export function readConfig(env: Environment) {
  const variables = openVariables(env, OTHER_VARIABLES)
  const { read } = variables
  const shared = readShared(read)
  const port = read('PORT', 8080, wholeNumber(1, 65_535), 'a port number from 1 to 65535')
  const settings = gatewaySettingsOf(variables, shared, port)
  const mail = readMailSettings(read, settings.dashboardUrl)
  const redis = 'redis://user:password@host:port'
  const config = {
    ...shared,
    port,
    /** The address to listen on; null for all. */
    host: read('BECK_HOST', null, addressOf, 'an address of this machine such as 127.0.0.1'),
    monitor: monitorOf(read),
    /** The signer's own user of that database; null where it has the server's, or the embedded one's. */
    signerDatabaseUrl: read('BECK_SIGNER_DATABASE_URL', null, postgresUrlOf, POSTGRES_URL_FORM, hidden),
    redisUrl: read('REDIS_URL', null, urlOf(['redis:', 'rediss:']), redis, hidden),
    nodes: nodesOf(read, shared.networks),
    /** The text after `fixed:`; null for the market. */
    fixedRates: read(
      'BECK_RATES',
      { fixed: null },
      ratesOf,
      'market, or fixed: with pairs such as fixed:BTC/USD=65000,EUR/USD=1.08',
    ).fixed,
    mail,
    traces: readTraces(read),
    singleSignOn: readSingleSignOn(variables),
    settings: { ...settings, sendsMail: mail !== null },
    rateLimit: {
      perSecond: rateOf(read, 'BECK_RATE_LIMIT', 100, 'a second per key'),
      burst: rateOf(read, 'BECK_RATE_BURST', 200, 'at once per key'),
    },
    /** For requests without a good key. */
    addressRateLimit: {
      perSecond: rateOf(read, 'BECK_ADDRESS_RATE_LIMIT', 100, 'a second per address without a good key'),
      burst: rateOf(read, 'BECK_ADDRESS_RATE_BURST', 400, 'at once per address without a good key'),
    },
    /** Whose forwarded headers are believed, comma-separated. */
    trustProxy: read(
      'BECK_TRUST_PROXY',
      null,
      proxiesOf,
      'addresses or networks such as 10.0.0.0/8, comma-separated',
    ),
    /** Whom to tell of a weakness, as a URI. */
    securityContact: read(
      'BECK_SECURITY_CONTACT',
      null,
      readSecurityContact,
      'an email address, or a URI that begins with mailto:, https: or tel:',
    ),
    /** From one simulated block to the next. */
    sandboxBlockMs: read(
      'BECK_SANDBOX_BLOCK_MS',
      5_000,
      wholeNumber(0, 86_400_000),
      'milliseconds, 0 to mine by hand only',
    ),
    /** Slips of the pen. */
    unknownVariables: variables.unknown(),
  }
  reportContradictions(config, variables)
  variables.refuseIfAny()
  return config
}

/** Settings that are fine each for itself. */
function reportContradictions(config: Config, { report }: Variables): void {
  const { databaseUrl, signerDatabaseUrl, secretKey, alsoSecretKey, settings } = config
  if (signerDatabaseUrl !== null && databaseUrl === null)
    report(
      'BECK_SIGNER_DATABASE_URL is set without DATABASE_URL: the embedded database has a user for the signer',
    )
  if (alsoSecretKey !== null && secretKey?.equals(alsoSecretKey))
    report(
      'BECK_SECRET_KEY_ALSO is the same key as BECK_SECRET_KEY; it is the one to come, or the one that goes',
    )
  if (databaseUrl !== null && secretKey === null)
    report(
      'BECK_SECRET_KEY is not set, and is required with DATABASE_URL: every Beck on that database needs the same one (openssl rand -hex 32)',
    )
  if (settings.minFiatMinor > settings.maxFiatMinor) report('BECK_MIN_FIAT is above BECK_MAX_FIAT')
}

function gatewaySettingsOf(
  { read }: Variables,
  shared: SharedSettings,
  port: number,
): Omit<GatewaySettings, 'sendsMail'> {
  const bps = 'hundredths of a percent, from 0 to 9999'
  const fiat = 'an amount of fiat above zero such as'
  const home = `http://localhost:${port}`
  const publicUrl = read('BECK_PUBLIC_URL', home, publicUrlOf, 'a URL such as https://pay.example.com')
  return {
    publicUrl,
    dashboardUrl: read(
      'BECK_DASHBOARD_URL',
      publicUrl,
      publicUrlOf,
      'a URL such as https://dashboard.example.com',
    ),
    feeBps: read('BECK_FEE_BPS', 100n, bpsOf, bps),
    payoutFeeBps: read('BECK_PAYOUT_FEE_BPS', 10n, bpsOf, bps),
    minFiatMinor: read('BECK_MIN_FIAT', 50n, fiatOf, `${fiat} 0.50`),
    maxFiatMinor: read('BECK_MAX_FIAT', 100_000_000n, fiatOf, `${fiat} 1000000`),
    tokens: shared.tokens,
    tokenContracts: [...Object.values(shared.tokens), ...Object.values(SIMULATED_TOKENS)],
    broadcastWaitMs: BROADCAST_WAIT_MS,
    keptDays: keptDaysOf(read),
    webhookAllowPrivate: read('BECK_WEBHOOK_ALLOW_PRIVATE', false, yesOrNo, '1 or 0'),
    confirmations: shared.confirmations,
  }
}

/** Where metrics are served; null for nowhere. */
function monitorOf(read: Read) {
  const ports = 'a port number from 1 to 65535, or 0 for no metrics'
  const port = read('BECK_METRICS_PORT', null, wholeNumber(0, 65_535), ports)
  const host = read('BECK_METRICS_HOST', '127.0.0.1', addressOf, 'an address of this machine')
  return port === 0 ? null : { host, port: port ?? METRICS_PORT, isChosen: port !== null }
}

/** Null where the operator connected no node. */
function nodesOf(read: Read, networks: SharedSettings['networks']) {
  const bitcoin = nodeUrlOf(read, 'BITCOIN_RPC_URL', ['http:', 'https:'])
  const litecoin = nodeUrlOf(read, 'LITECOIN_RPC_URL', ['http:', 'https:'])
  const ethereum = nodeUrlOf(read, 'ETHEREUM_RPC_URL', ['http:', 'https:', 'ws:', 'wss:'])
  const wsUrl = read('ETHEREUM_WS_URL', null, urlOf(['ws:', 'wss:']), 'ws://host:port', hidden)
  return {
    bitcoin: bitcoin === null ? null : { rpcUrl: bitcoin, network: networks.bitcoin },
    litecoin: litecoin === null ? null : { rpcUrl: litecoin, network: networks.litecoin },
    ethereum: ethereum === null ? null : { rpcUrl: ethereum, network: networks.ethereum, wsUrl },
  }
}

const nodeUrlOf = (read: Read, name: string, protocols: readonly string[]): string | null =>
  read(name, null, urlOf(protocols), `${protocols[0]}//user:password@host:port`, hidden)

function keptDaysOf(read: Read): KeptDays {
  const days = (of: keyof KeptDays) => {
    const { variable, usual, min, max } = KEPT_DAYS[of]
    return read(variable, usual, wholeNumber(min, max), `days, from ${min} to ${max}`)
  }
  return {
    events: days('events'),
    checkouts: days('checkouts'),
    invitations: days('invitations'),
    alerts: days('alerts'),
  }
}

const rateOf = (read: Read, name: string, fallback: number, what: string): number =>
  read(name, fallback, wholeNumber(1, 1_000_000), `requests ${what}, from 1 to 1000000`)

function publicUrlOf(text: string): string | null {
  const url = URL.parse(text)
  const isPlain =
    url && ['http:', 'https:'].includes(url.protocol) && !url.search && !url.hash && !url.username
  return isPlain ? url.href.replace(/(?<!\/)\/+$/, '') : null
}

function fiatOf(text: string): bigint | null {
  const minor = parseDecimal(text, FIAT_DECIMALS)
  return minor !== null && minor > 0n && minor < 10n ** 15n ? minor : null
}

function bpsOf(text: string): bigint | null {
  const value = /^\d{1,4}$/.test(text) ? BigInt(text) : BPS_MAX + 1n
  return value <= BPS_MAX ? value : null
}

function ratesOf(text: string): { fixed: string | null } | null {
  if (text === 'market') return { fixed: null }
  const fixed = /^fixed:(.+)$/s.exec(text)?.[1]
  return fixed !== undefined && orNull(fixedRates)(fixed) ? { fixed } : null
}

function proxiesOf(text: string): string | null {
  const parts = text.split(',').map((part) => part.trim())
  return readNetworks(parts) ? parts.join(',') : null
}
