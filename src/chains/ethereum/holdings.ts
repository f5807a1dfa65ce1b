/** What addresses hold: ether and the two tokens, after one block. */
import type { FoundFunds, HoldingsQuery } from '../chain.ts'
import type { Rpc } from '../json-rpc.ts'
import { askBalances, readBalances } from './balances.ts'
import type { TokenContracts } from './transactions.ts'
import { readBlockRef } from './wire.ts'

export function createHoldingsReader(rpc: Rpc, tokens: TokenContracts) {
  const assets = ['ETH', ...tokens.values()] as const

  const readLatest = async () => readBlockRef(await rpc.call('eth_getBlockByNumber', ['latest', false]))

  /** Of each address, atoms of each of `assets`. */
  async function readAll(addresses: readonly string[], blockHash: string): Promise<bigint[][]> {
    const [answers = []] = await askBalances(
      rpc,
      [...tokens.keys()],
      [{ accounts: addresses, at: { blockHash } }],
    )
    return readBalances(answers, addresses.length, tokens.size)
  }

  return {
    async findFunds(lookups: readonly Uint8Array[]): Promise<FoundFunds> {
      const at = await readLatest()
      const held = await readAll(
        lookups.map((lookup) => `0x${Buffer.from(lookup).toString('hex')}`),
        at.hash,
      )
      const funds = lookups.flatMap((lookup, account) =>
        assets.map((asset, index) => ({ lookup, asset, atoms: held[account]?.[index] ?? 0n, utxo: null })),
      )
      return { at, funds: funds.filter(({ atoms }) => atoms > 0n) }
    },

    async holdings({ addresses, at }: HoldingsQuery) {
      const totals = { ETH: 0n, USDC: 0n, USDT: 0n }
      if (addresses.length === 0) return totals
      // One block for all reads: coins that move between two addresses meanwhile are counted once.
      for (const held of await readAll(addresses, at ?? (await readLatest()).hash))
        for (const [index, asset] of assets.entries()) totals[asset] += held[index] ?? 0n
      return totals
    },

    async etherAt(blockHash: string, addresses: readonly string[]): Promise<bigint[]> {
      const [answers = []] = await askBalances(rpc, [], [{ accounts: addresses, at: { blockHash } }])
      return readBalances(answers, addresses.length, 0).map(([atoms = 0n]) => atoms)
    },
  }
}
