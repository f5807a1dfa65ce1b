/** Links that wallets read with coin, network and amount: BIP-21 and EIP-681. */
import { ASSET_FACTS, type Asset } from '../core/assets.ts'
import { formatAmount } from '../core/money.ts'

/** What an Ethereum payment is made on. */
export interface EthereumPlace {
  /** Null where no wallet knows the chain, such as the simulated one. */
  readonly evmChainId: number | null
  readonly tokens: Readonly<Record<'USDC' | 'USDT', string>>
}

/**
 * `bitcoin:<address>?amount=<decimal>` (BIP-21, Litecoin alike), `ethereum:<address>@<chain id>?value=<wei>`, and for tokens
 * `ethereum:<contract>@<chain id>/transfer?address=<address>&uint256=<atoms>` (EIP-681).
 *
 * @returns Null when no wallet could pay it: then nothing that is close to it is made up either, for a wallet that reads it
 *   as something else would burn the coins.
 * @see https://eips.ethereum.org/EIPS/eip-681
 */
export function paymentUri(
  payment: { readonly asset: Asset; readonly address: string; readonly atoms: bigint },
  { evmChainId, tokens }: EthereumPlace,
): string | null {
  const { asset, address, atoms } = payment
  switch (asset) {
    case 'BTC':
    case 'LTC':
      return amountUri(asset, address, atoms)
    case 'ETH':
      return evmChainId === null ? null : `ethereum:${address}@${evmChainId}?value=${atoms}`
    case 'USDC':
    case 'USDT':
      return evmChainId === null
        ? null
        : `ethereum:${tokens[asset]}@${evmChainId}/transfer?address=${address}&uint256=${atoms}`
  }
}

/**
 * The contract's `qr_data`, `<scheme>:<address>?amount=<decimal>`. Wallets read `ethereum:` with an amount as ether, so a
 * token has a scheme of its own: who does not know it opens nothing, or takes the address alone.
 */
export const amountUri = (asset: Asset, address: string, atoms: bigint): string =>
  `${ASSET_FACTS[asset].uriScheme}:${address}?amount=${formatAmount(atoms, asset)}`
