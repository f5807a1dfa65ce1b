import type * as real from '../../../src/wallets/wallets.sql.ts'
import { testMode, testXpub } from '../../wallet.ts'
import { run } from './tables.ts'

export const currentWallets: typeof real.currentWallets = (db) =>
  run(db, (tables) =>
    [...tables.chains.keys()].flatMap((name) => {
      const chain = tables.chains.get(name)?.chain
      if (!chain) return []
      const series = 'simulated'
      return [
        {
          chain,
          series,
          mode: testMode(chain),
          xpub: testXpub(chain),
          nextChange: tables.nextChange.get(series) ?? 1n,
        },
      ]
    }),
  )

export const publishWallet: typeof real.publishWallet = async () => {
  throw new Error('a simulated gateway has its wallets from the beginning')
}
