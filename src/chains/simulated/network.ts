/** What the simulated networks are like: addresses of the test networks, constant fees, a chain id of their own. */
import { createHash, randomBytes } from 'node:crypto'
import { readAddress } from '../../core/address.ts'
import { type Asset, networkOfChain } from '../../core/assets.ts'
import type { FeeRates } from '../chain.ts'

export const SIMULATED_CHAINS = ['sim-bitcoin', 'sim-litecoin', 'sim-ethereum'] as const
export type SimulatedChainName = (typeof SIMULATED_CHAINS)[number]

/** Of no public network, so that what is signed for the sandbox is worth nothing elsewhere. */
export const SIMULATED_ETHEREUM_CHAIN_ID = 232_500_001

export const SIMULATED_TOKENS: Readonly<Record<'USDC' | 'USDT', `0x${string}`>> = {
  USDC: '0x5553444300000000000000000000000000000001',
  USDT: '0x5553445400000000000000000000000000000001',
}

/** Fees never change here. The rates to pay are above the least that the simulated nodes relay. */
export const SIMULATED_FEE_RATES = {
  'sim-bitcoin': { kind: 'vbyte', atomsPerKvb: 2_000n, mayGuess: true, floorAtomsPerKvb: 1_000n },
  'sim-litecoin': { kind: 'vbyte', atomsPerKvb: 10_000n, mayGuess: true, floorAtomsPerKvb: 1_000n },
  'sim-ethereum': { kind: 'gas', baseFeeWei: 1_000_000_000n, priorityFeeWei: 100_000_000n, fork: 'prague' },
} as const satisfies Record<SimulatedChainName, FeeRates>

/** Gas of all that the simulated Ethereum can do; a batch costs about what it does on the main network (bench/sweep-gas.ts). */
export const SIMULATED_GAS = {
  ether: 21_000n,
  token: 50_000n,
  deployment: 567_656n,
  batch: 30_000n,
  authorization: 12_500n,
  sweep: 20_000n,
} as const

/** As {@link readAddress}: the simulated networks write addresses as the test networks do. */
export const lookupOf = (chain: SimulatedChainName, address: string): Uint8Array | null =>
  readAddress(networkOfChain(chain), 'testnet', address)

/** Where a double-spend sends the coins, out of everybody's reach: a script nobody spends, an address without a key. */
export const elsewhere = (chain: SimulatedChainName): Uint8Array =>
  chain === 'sim-ethereum' ? new Uint8Array(20).fill(0xde) : new Uint8Array([0x6a])

export const assetOfToken = (contract: string): Asset | null =>
  contract === SIMULATED_TOKENS.USDC ? 'USDC' : contract === SIMULATED_TOKENS.USDT ? 'USDT' : null

/** The assets that addresses of the simulated Ethereum hold as balances. */
export const ASSETS_OF_ACCOUNTS = ['ETH', 'USDC', 'USDT'] as const satisfies readonly Asset[]

/** 32 bytes as the network writes hashes. */
export const hashFormat = (chain: SimulatedChainName, hex: string): string =>
  chain === 'sim-ethereum' ? `0x${hex}` : hex

export const newSimulatedHash = (chain: SimulatedChainName): string =>
  hashFormat(chain, randomBytes(32).toString('hex'))

/** Block 0, as the migration writes it: the same in every database. */
export const genesisOf = (chain: SimulatedChainName) => ({
  height: 0,
  hash: hashFormat(chain, createHash('sha256').update(`beck ${chain}`).digest('hex')),
  parentHash: hashFormat(chain, '0'.repeat(64)),
})
