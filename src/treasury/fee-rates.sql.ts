/** What the networks charge now, as the worker with a node saw it last. */
import type { ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { firstRow } from '../db/rows.ts'
import type { NetworkRates } from './fees.ts'

/** Null when nobody looked for ten minutes: a fee is not guessed. */
export const findFeeRates = (db: Queryable, chain: ChainName): Promise<NetworkRates | null> =>
  firstRow(
    db,
    `select rate, priority_rate as "priorityRate" from fee_rates where chain = $1 and seen_at > now() - interval '10 minutes'`,
    [chain],
  )

export async function storeFeeRates(db: Queryable, chain: ChainName, rates: NetworkRates): Promise<void> {
  await db.query(
    `insert into fee_rates (chain, rate, priority_rate, seen_at) values ($1, $2, $3, now())
     on conflict (chain) do update set rate = excluded.rate, priority_rate = excluded.priority_rate, seen_at = now()`,
    [chain, rates.rate, rates.priorityRate],
  )
}
