/** The ports to the chains that the settings connect. */
import { createBitcoinChain } from '../chains/bitcoin/bitcoin-chain.ts'
import type { ChainPort } from '../chains/chain.ts'
import { createEthereumChain } from '../chains/ethereum/ethereum-chain.ts'
import { SIMULATED_CHAINS } from '../chains/simulated/network.ts'
import { createSimulatedChain } from '../chains/simulated/simulated-chain.ts'
import type { Log } from '../core/log.ts'
import type { Database } from '../db/database.ts'
import type { Config } from './config.ts'

/** Opens the port to every connected chain. Nothing is asked of a node before the first call. */
export function openPorts(config: Config, db: Database, log: Log): ChainPort[] {
  const { bitcoin, litecoin, ethereum } = config.nodes
  return [
    ...(bitcoin ? [createBitcoinChain({ chain: 'bitcoin', ...bitcoin, log })] : []),
    ...(litecoin ? [createBitcoinChain({ chain: 'litecoin', ...litecoin, log })] : []),
    ...(ethereum
      ? [
          createEthereumChain({
            rpcUrl: ethereum.rpcUrl,
            ...(ethereum.wsUrl === null ? {} : { wsUrl: ethereum.wsUrl }),
            network: ethereum.network,
            usdcContract: config.tokens.USDC,
            usdtContract: config.tokens.USDT,
            log,
          }),
        ]
      : []),
    ...SIMULATED_CHAINS.map((chain) => createSimulatedChain({ db, chain })),
  ]
}
