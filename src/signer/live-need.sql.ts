/** Whether somebody will want live coins paid out, so that a signer without their keys is one that lacks them. */
import { CHAINS, isSimulated } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'

export interface LiveNeed {
  readonly hasAccount: boolean
  /** Published by a signer that had the keys. */
  readonly hasWallet: boolean
}

export async function findLiveNeed(db: Queryable): Promise<LiveNeed> {
  const { rows } = await db.query<LiveNeed>(
    `select exists (select 1 from accounts where mode = 'live') as "hasAccount",
       exists (select 1 from wallets where retired_at is null and chain = any($1::text[])) as "hasWallet"`,
    [CHAINS.filter((chain) => !isSimulated(chain))],
  )
  return rows[0] ?? { hasAccount: false, hasWallet: false }
}
