/** Assets whose books and chain disagree: nothing of them is paid out until they agree again. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'

export async function isFrozen(db: Queryable, chain: ChainName, asset: Asset): Promise<boolean> {
  const { rowCount } = await db.query('select from freezes where chain = $1 and asset = $2', [chain, asset])
  return rowCount > 0
}
