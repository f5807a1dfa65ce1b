/** The road of a payment on a real litecoind. A dollar is a hundredth of a litecoin. */
import { createBitcoinChain } from '../../src/chains/bitcoin/bitcoin-chain.ts'
import { SILENT } from '../../src/core/log.ts'
import { formatDecimal } from '../../src/core/money.ts'
import { type Node, startNode } from '../litecoind.ts'
import { openRoad, type Road } from './road.ts'

const CONFIRMATIONS = 6

export interface LitecoinRoad extends Road {
  readonly node: Node
  /** Pays addresses amounts of atoms in one transaction, and returns its id. */
  pay(...outputs: readonly { readonly address: string; readonly atoms: bigint }[]): Promise<string>
  /** Mines until what was sent is confirmed, and follows. */
  confirm(): Promise<void>
}

export async function litecoinRoad(): Promise<LitecoinRoad> {
  const node = await startNode({ chain: 'litecoin' })
  const { network, rpcUrl } = node
  const road = await openRoad(createBitcoinChain({ chain: 'litecoin', network, rpcUrl, log: SILENT }))
  return {
    ...road,
    node,
    pay: (...outputs) => node.pay(outputs.map(({ address, atoms }) => [address, formatDecimal(atoms, 8)])),
    async confirm() {
      await node.mine(CONFIRMATIONS)
      await road.follow()
    },
  }
}
