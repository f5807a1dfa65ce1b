/** Assets whose books and chain disagree: nothing of them is paid out until they agree again. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { allRows, anyRow } from '../db/rows.ts'

export const isFrozen = (db: Queryable, chain: ChainName, asset: Asset): Promise<boolean> =>
  anyRow(db, 'select from freezes where chain = $1 and asset = $2', [chain, asset])

export interface Freeze {
  readonly chain: ChainName
  readonly asset: Asset
}

export const listFreezes = (db: Queryable): Promise<Freeze[]> =>
  allRows(db, 'select chain, asset from freezes order by chain, asset')

/** @returns False when it is frozen already: the first reason stays. */
export const freeze = (db: Queryable, chain: ChainName, asset: Asset, reason: string): Promise<boolean> =>
  anyRow(
    db,
    'insert into freezes (chain, asset, reason) values ($1, $2, $3) on conflict (chain, asset) do nothing',
    [chain, asset, reason],
  )

/** @returns False when it was not frozen. */
export const thaw = (db: Queryable, chain: ChainName, asset: Asset): Promise<boolean> =>
  anyRow(db, 'delete from freezes where chain = $1 and asset = $2', [chain, asset])
