/** The gateway's own wallets, and what is frozen. */
import type { Asset, ChainName } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'
import { allRows } from '../../db/rows.ts'

export interface HotWallet {
  readonly chain: ChainName
  readonly address: string
}

export const listHotWallets = (db: Queryable): Promise<HotWallet[]> =>
  allRows(
    db,
    `select w.chain, a.address from wallets w join addresses a on a.chain = w.chain and a.series = w.series
     where w.retired_at is null and a.branch = 1 and a.position = 0 order by w.chain`,
  )

export interface FrozenCoin {
  readonly chain: ChainName
  readonly asset: Asset
  readonly reason: string
  readonly frozenAt: Date
}

export const listFrozenCoins = (db: Queryable): Promise<FrozenCoin[]> =>
  allRows(db, 'select chain, asset, reason, frozen_at as "frozenAt" from freezes order by chain, asset')
