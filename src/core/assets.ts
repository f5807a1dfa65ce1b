/** The coins Beck takes, the networks they live on, and what is fixed about each of them. */

export const NETWORKS = ['bitcoin', 'litecoin', 'ethereum'] as const
export type Network = (typeof NETWORKS)[number]

export const ASSETS = ['BTC', 'LTC', 'ETH', 'USDC', 'USDT'] as const
export type Asset = (typeof ASSETS)[number]

export interface AssetFacts {
  readonly network: Network
  /** Digits after the point of one whole coin: one coin is 10^decimals atoms. */
  readonly decimals: number
  /** Digits a buyer can be asked to type. The expected amount is rounded up to these. */
  readonly payableDecimals: number
  /** A deposit below this many atoms is recorded but moves nothing. */
  readonly dustAtoms: bigint
  /** Confirmations before a deposit counts, unless the operator or the account asks for more. */
  readonly confirmations: number
  /** Scheme of `qr_data`. Not `ethereum` for a token: wallets would send ether. */
  readonly uriScheme: string
}

/**
 * Dust of BTC and LTC is the relay limit for a P2WPKH output: 98 virtual bytes at 3 sat/vB
 * (Bitcoin Core `GetDustThreshold`) and at 30 litoshi/vB (Litecoin Core).
 */
export const ASSET_FACTS: Readonly<Record<Asset, AssetFacts>> = {
  BTC: {
    network: 'bitcoin',
    decimals: 8,
    payableDecimals: 8,
    dustAtoms: 294n,
    confirmations: 2,
    uriScheme: 'bitcoin',
  },
  LTC: {
    network: 'litecoin',
    decimals: 8,
    payableDecimals: 8,
    dustAtoms: 2_940n,
    confirmations: 6,
    uriScheme: 'litecoin',
  },
  ETH: {
    network: 'ethereum',
    decimals: 18,
    payableDecimals: 8,
    dustAtoms: 10_000_000_000_000n,
    confirmations: 12,
    uriScheme: 'ethereum',
  },
  USDC: {
    network: 'ethereum',
    decimals: 6,
    payableDecimals: 6,
    dustAtoms: 10_000n,
    confirmations: 12,
    uriScheme: 'usdc',
  },
  USDT: {
    network: 'ethereum',
    decimals: 6,
    payableDecimals: 6,
    dustAtoms: 10_000n,
    confirmations: 12,
    uriScheme: 'usdt',
  },
}

export const networkOf = (asset: Asset): Network => ASSET_FACTS[asset].network

export const isAsset = (value: string): value is Asset => (ASSETS as readonly string[]).includes(value)

export const FIAT_CURRENCIES = ['USD', 'EUR', 'GBP'] as const
export type Fiat = (typeof FIAT_CURRENCIES)[number]

export const isFiat = (value: string): value is Fiat => (FIAT_CURRENCIES as readonly string[]).includes(value)

/** A `live` account's coins are on the operator's networks, a `test` account's on the simulated chain. */
export const MODES = ['live', 'test'] as const
export type Mode = (typeof MODES)[number]

/** One concrete chain that Beck follows: a live network, or its simulated twin. */
export const CHAINS = [
  'bitcoin',
  'litecoin',
  'ethereum',
  'sim-bitcoin',
  'sim-litecoin',
  'sim-ethereum',
] as const
export type ChainName = (typeof CHAINS)[number]

export const chainFor = (mode: Mode, network: Network): ChainName =>
  mode === 'live' ? network : `sim-${network}`

export const networkOfChain = (chain: ChainName): Network =>
  (isSimulated(chain) ? chain.slice(4) : chain) as Network

/** Whether a chain is one of the sandbox: kept by Beck itself, with coins that are worth nothing. */
export const isSimulated = (chain: ChainName): chain is Extract<ChainName, `sim-${string}`> =>
  chain.startsWith('sim-')

/** Whether a chain keeps balances of accounts, as Ethereum does, and no unspent outputs. */
export const hasAccounts = (chain: ChainName): boolean => networkOfChain(chain) === 'ethereum'

const NATIVE_ASSETS = { bitcoin: 'BTC', litecoin: 'LTC', ethereum: 'ETH' } as const

/** The coin that a chain's own fees are paid in. */
export const nativeAsset = (chain: ChainName): 'BTC' | 'LTC' | 'ETH' => NATIVE_ASSETS[networkOfChain(chain)]

/** Circle's and Tether's contracts on Ethereum's main network. */
export const MAINNET_TOKENS = {
  USDC: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  USDT: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
} as const

/** Whose accounts a chain serves. */
export const modeOfChain = (chain: ChainName): Mode => (isSimulated(chain) ? 'test' : 'live')
