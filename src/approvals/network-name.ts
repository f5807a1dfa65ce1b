/** How statements name a chain, exactly: what was approved for one network is not approved for another. */
import type { ChainName } from '../core/assets.ts'

const ETHEREUM_IDS: Readonly<Record<string, number>> = { mainnet: 1, testnet: 11_155_111 }

/**
 * @param mode - Of the wallet: `mainnet`, `testnet`, `regtest`.
 * @param pinnedId - A private Ethereum chain's id, as it was pinned at first contact.
 * @returns `bitcoin mainnet`, `ethereum 1`, `sim-bitcoin simulated`; null while the chain's id is not known.
 */
export function networkName(chain: ChainName, mode: string, pinnedId: number | null): string | null {
  if (chain.startsWith('sim-')) return `${chain} simulated`
  if (chain !== 'ethereum') return `${chain} ${mode}`
  const id = ETHEREUM_IDS[mode] ?? pinnedId
  return id === null ? null : `ethereum ${id}`
}
