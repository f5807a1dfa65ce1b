/** What buyers are told about networks: their names, and where their transactions can be looked at. */
import type { Asset, Network } from '../../core/assets.ts'

export interface HostedOptions {
  /** The networks that live accounts are on: BITCOIN_NETWORK and the like. */
  readonly networks?: Partial<Readonly<Record<Network, string>>>
}

const EXPLORERS: Readonly<Record<string, string>> = {
  'bitcoin mainnet': 'https://mempool.space/tx/{tx}',
  'bitcoin testnet': 'https://mempool.space/testnet/tx/{tx}',
  'bitcoin testnet4': 'https://mempool.space/testnet4/tx/{tx}',
  'bitcoin signet': 'https://mempool.space/signet/tx/{tx}',
  'litecoin mainnet': 'https://litecoinspace.org/tx/{tx}',
  'litecoin testnet': 'https://litecoinspace.org/testnet/tx/{tx}',
  'ethereum mainnet': 'https://etherscan.io/tx/{tx}',
  'ethereum sepolia': 'https://sepolia.etherscan.io/tx/{tx}',
}

/** Null where nobody can look: private and simulated networks. */
export function explorerUrl(
  options: HostedOptions,
  network: Network,
  isLive: boolean,
  txHash: string,
): string | null {
  if (!isLive || !/^(0x)?[0-9a-f]{64}$/.test(txHash)) return null
  const template = EXPLORERS[`${network} ${options.networks?.[network] ?? 'mainnet'}`]
  return template ? template.replaceAll('{tx}', txHash) : null
}

const PROPER: Readonly<Record<Network, string>> = {
  bitcoin: 'Bitcoin',
  litecoin: 'Litecoin',
  ethereum: 'Ethereum',
}

/** `Ethereum mainnet`, `Bitcoin testnet4`, `Ethereum Sepolia`; the sandbox's are `Ethereum simulated`. */
export function networkName(options: HostedOptions, network: Network, isLive: boolean): string {
  const variant = isLive ? (options.networks?.[network] ?? 'mainnet') : 'simulated'
  return `${PROPER[network]} ${variant === 'sepolia' ? 'Sepolia' : variant}`
}

export const COIN_NAMES: Readonly<Record<Asset, string>> = {
  BTC: 'Bitcoin',
  LTC: 'Litecoin',
  ETH: 'Ether',
  USDC: 'USD Coin',
  USDT: 'Tether USD',
}
