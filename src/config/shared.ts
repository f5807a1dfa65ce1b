/** The settings that the server and the signer read, each for itself, and have to read alike. */
import { resolve } from 'node:path'
import { checksum, validate } from 'ox/Address'
import { BITCOIN_NETWORKS } from '../chains/bitcoin/networks.ts'
import type { EthereumNetwork } from '../chains/ethereum/network.ts'
import { ASSETS, type Asset, isAsset, MAINNET_TOKENS } from '../core/assets.ts'
import { readSecretKey } from '../core/secrets.ts'
import { HOUR_MS } from '../core/time.ts'
import { type Limits, readLimits } from '../withdrawals/limits.ts'
import { hidden, oneOf, orNull, type Read, urlOf, wholeNumber } from './variables.ts'

const ETHEREUM_NETWORKS: readonly EthereumNetwork[] = ['mainnet', 'sepolia', 'dev']
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const CONFIRMATIONS_MAX = 1_000

export const postgresUrlOf = urlOf(['postgres:', 'postgresql:'])
export const POSTGRES_URL_FORM = 'postgres://user:password@host:port/database'

export type SharedSettings = Readonly<ReturnType<typeof readShared>>

export function readShared(read: Read) {
  const key = '32 bytes, as 64 hexadecimal digits or as base64 (openssl rand -hex 32)'
  const token =
    'the address of a token contract: 0x and 40 hexadecimal digits, its EIP-55 checksum right if it has one'
  const hours = read(
    'BECK_SIGNER_ALLOWLIST_HOURS',
    null,
    wholeNumber(0, 9_999),
    'whole hours, from 0 to 9999',
  )
  return {
    /** Absolute. Holds the embedded database, the secret key, the keystore and the signer's journal. */
    dataDir: resolve(read('BECK_DATA_DIR', './data', (text) => text, 'a directory')),
    /** An external PostgreSQL; null for the embedded one. */
    databaseUrl: read('DATABASE_URL', null, postgresUrlOf, POSTGRES_URL_FORM, hidden),
    /** Null when it is to be kept in the data directory. */
    secretKey: read('BECK_SECRET_KEY', null, orNull(readSecretKey), key, hidden),
    /** Accepted beside it while keys are changed. */
    alsoSecretKey: read('BECK_SECRET_KEY_ALSO', null, orNull(readSecretKey), key, hidden),
    networks: {
      bitcoin: networkOf(read, 'BITCOIN_NETWORK', Object.keys(BITCOIN_NETWORKS.bitcoin)),
      litecoin: networkOf(read, 'LITECOIN_NETWORK', Object.keys(BITCOIN_NETWORKS.litecoin)),
      ethereum: networkOf(read, 'ETHEREUM_NETWORK', ETHEREUM_NETWORKS),
    },
    /** EIP-55 addresses. */
    tokens: {
      USDC: read('USDC_CONTRACT', MAINNET_TOKENS.USDC, contractOf, token),
      USDT: read('USDT_CONTRACT', MAINNET_TOKENS.USDT, contractOf, token),
    },
    /** Where the operator wants other confirmations than the asset's own. */
    confirmations: read<Confirmations, Confirmations>(
      'BECK_CONFIRMATIONS',
      {},
      confirmationsOf,
      `pairs such as BTC=2,LTC=6, each from 1 to ${CONFIRMATIONS_MAX}, of ${ASSETS.join(', ')}`,
    ),
    /** What the signer pays out at most. */
    limits: read<Limits, Limits>(
      'BECK_SIGNER_LIMITS',
      {},
      orNull(readLimits),
      'limits in whole coins such as BTC=tx:1,hour:5,day:20;ETH=tx:10',
    ),
    /** How long an address must have stood on the allowlist; null when there is no allowlist. */
    allowlistWaitMs: hours === null ? null : hours * HOUR_MS,
    logLevel: read('BECK_LOG_LEVEL', 'info', oneOf(LOG_LEVELS), `one of ${LOG_LEVELS.join(', ')}`),
  }
}

const networkOf = <Word extends string>(
  read: Read,
  name: string,
  networks: readonly Word[],
): Word | 'mainnet' => read(name, 'mainnet', oneOf(networks), `one of ${networks.join(', ')}`)

const contractOf = (text: string): string | null => (validate(text) ? checksum(text) : null)

type Confirmations = Partial<Record<Asset, number>>

function confirmationsOf(text: string): Confirmations | null {
  const counts: Confirmations = {}
  for (const pair of text.split(',')) {
    const [asset = '', count = '', ...rest] = pair.split('=').map((part) => part.trim())
    const value = wholeNumber(1, CONFIRMATIONS_MAX)(count)
    if (!isAsset(asset) || value === null || rest.length > 0 || asset in counts) return null
    counts[asset] = value
  }
  return counts
}
