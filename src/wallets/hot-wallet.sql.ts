import type { ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'

/** The lookup of a chain's hot wallet (branch 1, position 0 of the current wallet); null before there is one. */
export async function findHotWallet(db: Queryable, chain: ChainName): Promise<Uint8Array | null> {
  const { rows } = await db.query<{ lookup: Buffer }>(
    `select a.lookup from wallets w join addresses a on a.chain = w.chain and a.series = w.series
     where w.chain = $1 and w.retired_at is null and a.branch = 1 and a.position = 0`,
    [chain],
  )
  return rows[0]?.lookup ?? null
}
