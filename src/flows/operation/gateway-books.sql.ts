/** The gateway's own wallets, and what is frozen. */
import type { Asset, ChainName } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'

export interface HotWallet {
  readonly chain: ChainName
  readonly address: string
}

export async function listHotWallets(db: Queryable): Promise<HotWallet[]> {
  const { rows } = await db.query<HotWallet>(
    `select w.chain, a.address from wallets w join addresses a on a.chain = w.chain and a.series = w.series
     where w.retired_at is null and a.branch = 1 and a.position = 0 order by w.chain`,
  )
  return rows
}

export interface FrozenCoin {
  readonly chain: ChainName
  readonly asset: Asset
  readonly reason: string
  readonly frozenAt: Date
}

export async function listFrozenCoins(db: Queryable): Promise<FrozenCoin[]> {
  const { rows } = await db.query<FrozenCoin>(
    'select chain, asset, reason, frozen_at as "frozenAt" from freezes order by chain, asset',
  )
  return rows
}
