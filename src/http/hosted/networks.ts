/** What buyers are told about networks: their names, and where their transactions can be looked at. */
import { type Asset, type Network, nativeAsset, networkOf } from '../../core/assets.ts'
import type { EthereumPlace } from '../../payments/payment-uri.ts'

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
export function networkName(
  options: HostedOptions,
  network: Network,
  isLive: boolean,
  standard = '',
): string {
  const variant = isLive ? (options.networks?.[network] ?? 'mainnet') : 'simulated'
  return `${PROPER[network]}${standard} ${variant === 'sepolia' ? 'Sepolia' : variant}`
}

/** Whether a contract keeps it: Ethereum's own coin is ether. */
export const isToken = (asset: Asset): boolean =>
  networkOf(asset) === 'ethereum' && asset !== nativeAsset('ethereum')

/** Where a coin is sent to. Exchanges call a token's network by its standard: `Ethereum (ERC-20) mainnet`. */
export const coinNetwork = (options: HostedOptions, asset: Asset, isLive: boolean): string =>
  networkName(options, networkOf(asset), isLive, isToken(asset) ? ' (ERC-20)' : '')

/** Between two blocks, on average. */
const BLOCK_MINUTES: Readonly<Record<Network, number>> = { bitcoin: 10, litecoin: 2.5, ethereum: 0.2 }

/** What so many confirmations usually take; null on simulated chains, whose blocks come as they are asked for. */
export const usualMinutes = (network: Network, isLive: boolean, confirmations: number): number | null =>
  isLive && confirmations > 0 ? Math.ceil(BLOCK_MINUTES[network] * confirmations) : null

export interface WalletLink {
  readonly name: string
  readonly url: string
}

const TRUST_COINS: Readonly<Record<Network, string>> = { bitcoin: 'c0', litecoin: 'c2', ethereum: 'c60' }

/**
 * Links that open a payment in the apps of common wallets, on the networks of real money alone.
 *
 * @param uri - Of `paymentUri`.
 * @see https://docs.metamask.io/sdk/guides/use-deeplinks
 * @see https://developer.trustwallet.com/developer/develop-for-trust/deeplinking
 */
export function appLinks(
  payment: { readonly asset: Asset; readonly address: string; readonly amount: string },
  { evmChainId, tokens }: EthereumPlace,
  uri: string | null,
  isMainnet: boolean,
): WalletLink[] {
  if (uri === null || !isMainnet) return []
  const { asset, address, amount } = payment
  const network = networkOf(asset)
  if (network === 'ethereum' && evmChainId !== 1) return []
  const token = asset === 'USDC' || asset === 'USDT' ? `_t${tokens[asset]}` : ''
  const trust = {
    name: 'Trust Wallet',
    url: `https://link.trustwallet.com/send?asset=${TRUST_COINS[network]}${token}&address=${address}&amount=${amount}`,
  }
  const metamask = {
    name: 'MetaMask',
    url: `https://link.metamask.io/send/${uri.slice('ethereum:'.length)}`,
  }
  return network === 'ethereum' ? [metamask, trust] : [trust]
}

export const COIN_NAMES: Readonly<Record<Asset, string>> = {
  BTC: 'Bitcoin',
  LTC: 'Litecoin',
  ETH: 'Ether',
  USDC: 'USD Coin',
  USDT: 'Tether USD',
}
