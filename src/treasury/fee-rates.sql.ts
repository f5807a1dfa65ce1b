/** What the networks charge now, as the worker with a node saw it last. */
import type { ChainName } from '../core/assets.ts'
import { readFork } from '../core/forks.ts'
import type { Queryable } from '../db/database.ts'
import { firstRow } from '../db/rows.ts'
import type { NetworkRates } from './fees.ts'

/** Null when nobody looked for ten minutes: a fee is not guessed. */
export async function findFeeRates(db: Queryable, chain: ChainName): Promise<NetworkRates | null> {
  const row = await firstRow<NetworkRates & { fork: string | null }>(
    db,
    `select rate, priority_rate as "priorityRate", fork from fee_rates where chain = $1 and seen_at > now() - interval '10 minutes'`,
    [chain],
  )
  return row && { ...row, fork: readFork(row.fork) }
}

export async function storeFeeRates(db: Queryable, chain: ChainName, rates: NetworkRates): Promise<void> {
  await db.query(
    `insert into fee_rates (chain, rate, priority_rate, fork, seen_at) values ($1, $2, $3, $4, now())
     on conflict (chain) do update
       set rate = excluded.rate, priority_rate = excluded.priority_rate, fork = excluded.fork, seen_at = now()`,
    [chain, rates.rate, rates.priorityRate, rates.fork ?? null],
  )
}
