/** The transfer that a browser's wallet is asked for (EIP-1193 `eth_sendTransaction`), filled in on the server. */
import type { Asset } from '../../core/assets.ts'
import type { EthereumPlace } from '../../payments/payment-uri.ts'

export interface WalletTransfer {
  readonly chainId: string
  readonly to: string
  /** Wei, as a hexadecimal quantity. */
  readonly value: string
  readonly data: string
}

const hex = (value: bigint | number): string => `0x${value.toString(16)}`
const word = (digits: string): string => digits.padStart(64, '0')
/** `transfer(address,uint256)` of ERC-20. */
const TRANSFER_SELECTOR = '0xa9059cbb'

/** Null when no wallet can make it: another network, a simulated one. */
export function walletTransfer(
  payment: { readonly asset: Asset; readonly address: string; readonly atoms: bigint },
  { evmChainId, tokens }: EthereumPlace,
): WalletTransfer | null {
  if (evmChainId === null || payment.atoms <= 0n) return null
  const chainId = hex(evmChainId)
  switch (payment.asset) {
    case 'ETH':
      return { chainId, to: payment.address, value: hex(payment.atoms), data: '0x' }
    case 'USDC':
    case 'USDT': {
      const to = word(payment.address.slice(2).toLowerCase())
      return {
        chainId,
        to: tokens[payment.asset],
        value: '0x0',
        data: TRANSFER_SELECTOR + to + word(payment.atoms.toString(16)),
      }
    }
    case 'BTC':
    case 'LTC':
      return null
  }
}
