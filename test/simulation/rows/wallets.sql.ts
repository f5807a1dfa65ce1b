import type { ChainName } from '../../../src/core/assets.ts'
import type { Queryable } from '../../../src/db/database.ts'
import type * as real from '../../../src/wallets/wallets.sql.ts'
import { testMode, testXpub } from '../../wallet.ts'
import { run } from './tables.ts'

/** Deriving an account key costs more than a whole step. */
const xpubs = new Map<ChainName, string>()
function xpubOf(chain: ChainName): string {
  const xpub = xpubs.get(chain) ?? testXpub(chain)
  xpubs.set(chain, xpub)
  return xpub
}

const readWallets = (db: Queryable): Promise<real.Wallet[]> =>
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
          xpub: xpubOf(chain),
          nextChange: tables.nextChange.get(series) ?? 1n,
        },
      ]
    }),
  )

export const currentWallets: typeof real.currentWallets = readWallets

export const soundWallets: typeof real.soundWallets = async (db) => ({
  wallets: await readWallets(db),
  broken: null,
})

export const findCurrentWallet: typeof real.findCurrentWallet = async (db, _secrets, chain) =>
  (await readWallets(db)).find((wallet) => wallet.chain === chain) ?? null

export const publishWallet: typeof real.publishWallet = async () => {
  throw new Error('a simulated gateway has its wallets from the beginning')
}

export const raiseNextChange: typeof real.raiseNextChange = (tx, _chain, series, next) =>
  run(tx, (tables) => {
    const before = tables.nextChange.get(series) ?? 1n
    tables.nextChange.set(series, next > before ? next : before)
  })
