/** Assets whose books and chain disagree: nothing of them is paid out until they agree again. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'

export async function isFrozen(db: Queryable, chain: ChainName, asset: Asset): Promise<boolean> {
  const { rowCount } = await db.query('select from freezes where chain = $1 and asset = $2', [chain, asset])
  return rowCount > 0
}

export interface Freeze {
  readonly chain: ChainName
  readonly asset: Asset
}

export async function listFreezes(db: Queryable): Promise<Freeze[]> {
  const { rows } = await db.query<Freeze>('select chain, asset from freezes order by chain, asset')
  return rows
}

/** @returns False when it is frozen already: the first reason stays. */
export async function freeze(
  db: Queryable,
  chain: ChainName,
  asset: Asset,
  reason: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    'insert into freezes (chain, asset, reason) values ($1, $2, $3) on conflict (chain, asset) do nothing',
    [chain, asset, reason],
  )
  return rowCount > 0
}

/** @returns False when it was not frozen. */
export async function thaw(db: Queryable, chain: ChainName, asset: Asset): Promise<boolean> {
  const { rowCount } = await db.query('delete from freezes where chain = $1 and asset = $2', [chain, asset])
  return rowCount > 0
}
