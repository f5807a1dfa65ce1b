/** The road of a payment on a real Anvil. */
import { createEthereumChain } from '../../src/chains/ethereum/ethereum-chain.ts'
import { SILENT } from '../../src/core/log.ts'
import { type Anvil, type AnvilOptions, startAnvil } from '../anvil.ts'
import { openConnection, type UnsteadyConnection } from '../unsteady-connection.ts'
import { openRoad, type Road } from './road.ts'

export interface EthereumRoadOptions extends AnvilOptions {
  /** Of ether and tokens; 12 unless told. */
  readonly confirmations?: number
}

export interface EthereumRoad extends Road {
  readonly anvil: Anvil
  /** Between Beck and Anvil, for troubles of the way. */
  readonly connection: UnsteadyConnection
  readonly usdc: string
  readonly usdt: string
  /** Mines until what was sent is confirmed, and follows. */
  confirm(): Promise<void>
}

export async function ethereumRoad(options: EthereumRoadOptions = {}): Promise<EthereumRoad> {
  const { confirmations = 12 } = options
  const anvil = await startAnvil(options)
  const usdc = await anvil.deploy('UsdCoin')
  const usdt = await anvil.deploy('TetherToken')
  const connection = await openConnection(anvil.url)
  const road = await openRoad(
    createEthereumChain({
      rpcUrl: connection.url,
      network: 'dev',
      usdcContract: usdc,
      usdtContract: usdt,
      log: SILENT,
    }),
    { confirmations: { ETH: confirmations, USDC: confirmations, USDT: confirmations } },
  )
  return {
    ...road,
    anvil,
    connection,
    usdc,
    usdt,
    async confirm() {
      await anvil.mine(confirmations)
      await road.follow()
    },
  }
}
