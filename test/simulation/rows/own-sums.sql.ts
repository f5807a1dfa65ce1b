import type { Asset, ChainName } from '../../../src/core/assets.ts'
import { isGatewayAccount } from '../../../src/core/gateway-account.ts'
import type { AccountId } from '../../../src/core/ids.ts'
import type * as real from '../../../src/ledger/own-sums.sql.ts'
import type { OwnSums } from '../../../src/ledger/own-sums.ts'
import { run } from './tables.ts'

const NAMES = { fees: 'fees', capital: 'capital', network_fees: 'networkFees', loss: 'loss' } as const

/** A world has one chain. */
export const readOwnSums: typeof real.readOwnSums = (db, of) =>
  run(db, (tables) => {
    const sums = new Map<Asset, { -readonly [Name in keyof OwnSums]: OwnSums[Name] }>()
    const sumsOf = (chain: ChainName, asset: Asset) => {
      const none = { fees: 0n, capital: 0n, networkFees: 0n, loss: 0n, leaving: 0n, owed: 0n }
      const found = sums.get(asset) ?? { chain, asset, ...none }
      sums.set(asset, found)
      return found
    }
    let known: ChainName | undefined
    for (const { chain, transfers } of tables.entries.values()) {
      known = chain
      for (const { asset, debit, credit, atoms } of transfers) {
        const row = sumsOf(chain, asset)
        // Credit accounts grow by credits, debit accounts by debits.
        if (debit === 'fees' || debit === 'capital') row[NAMES[debit]] -= atoms
        if (credit === 'fees' || credit === 'capital') row[NAMES[credit]] += atoms
        if (debit === 'network_fees' || debit === 'loss') row[NAMES[debit]] += atoms
        if (credit === 'network_fees' || credit === 'loss') row[NAMES[credit]] -= atoms
      }
    }
    for (const [key, atoms] of tables.balances) {
      const [account, asset] = key.split(' ') as [AccountId, Asset]
      if (known) sumsOf(known, asset)[isGatewayAccount(account) ? 'leaving' : 'owed'] += atoms
    }
    return [...sums.values()].filter(({ asset }) => !of || of.asset === asset)
  })
