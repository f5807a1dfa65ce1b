/** The road of a payment on a real Anvil. */
import { createEthereumChain } from '../../src/chains/ethereum/ethereum-chain.ts'
import { SILENT } from '../../src/core/log.ts'
import { type Anvil, type AnvilOptions, startAnvil } from '../anvil.ts'
import { openRoad, type Road } from './road.ts'

/** Confirmations of ether and tokens. */
const CONFIRMATIONS = 12

export interface EthereumRoad extends Road {
  readonly anvil: Anvil
  readonly usdc: string
  readonly usdt: string
  /** Mines until what was sent is confirmed, and follows. */
  confirm(): Promise<void>
}

export async function ethereumRoad(options: AnvilOptions = {}): Promise<EthereumRoad> {
  const anvil = await startAnvil(options)
  const usdc = await anvil.deploy('UsdCoin')
  const usdt = await anvil.deploy('TetherToken')
  const road = await openRoad(
    createEthereumChain({
      rpcUrl: anvil.url,
      network: 'dev',
      usdcContract: usdc,
      usdtContract: usdt,
      log: SILENT,
    }),
  )
  return {
    ...road,
    anvil,
    usdc,
    usdt,
    async confirm() {
      await anvil.mine(CONFIRMATIONS)
      await road.follow()
    },
  }
}
