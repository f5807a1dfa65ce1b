/** The contract that batches of sweeps run at, one for each hot wallet: whether it is wanted, and what is to deploy it. */
import type { ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { allRows, oneRow } from '../db/rows.ts'
import { runRows } from '../db/together.ts'
import type { Deployment } from './sweep.ts'

export interface WantedDelegate {
  /** What is to deploy it; null while nothing is signed for it. */
  readonly replacementSet: string | null
  readonly wantedMs: number
}

/** Asks the signer for the contract that batches run at, which the chain does not show. Asking again changes nothing. */
export const wantDelegate = (db: Queryable, chain: ChainName, address: string): Promise<WantedDelegate> =>
  oneRow(
    db,
    `insert into sweep_delegates as d (chain, address, wanted_since) values ($1, $2, now())
     on conflict (chain, address) do update set wanted_since = coalesce(d.wanted_since, now())
     returning replacement_set as "replacementSet", (extract(epoch from now() - wanted_since) * 1000)::double precision as "wantedMs"`,
    [chain, address],
  )

/** The chain shows the contract, whoever deployed it: nothing more is signed for it. */
export async function noteDelegate(db: Queryable, chain: ChainName, address: string): Promise<void> {
  await db.query(
    'update sweep_delegates set wanted_since = null where chain = $1 and address = $2 and wanted_since is not null',
    [chain, address],
  )
}

/** What was signed to deploy a delegate, with its bumps. */
export const listDeployments = (
  db: Queryable,
  chain: ChainName,
  replacementSet: string,
): Promise<Deployment[]> =>
  allRows(
    db,
    `select status, (extract(epoch from now() - created_at) * 1000)::double precision as "ageMs" from signed_transactions
     where chain = $1 and replacement_set = $2`,
    [chain, replacementSet],
  )

/** Whether an address is the contract that batches run at. */
export async function isSweepDelegate(db: Queryable, chain: ChainName, address: string): Promise<boolean> {
  return (await runRows(db, FIND_DELEGATE, [{ chain, address }])).length > 0
}

const FIND_DELEGATE = overRows(
  { chain: 'text', address: 'text' },
  (rows) => `select place from ${rows}
    where exists (select from sweep_delegates d where d.chain = r.chain and lower(d.address) = lower(r.address))`,
)

/** What deploys the delegate did not, and will not: the signer may sign another. */
export async function wantDelegateAgain(
  db: Queryable,
  chain: ChainName,
  replacementSet: string,
): Promise<void> {
  await db.query(
    'update sweep_delegates set replacement_set = null where chain = $1 and replacement_set = $2',
    [chain, replacementSet],
  )
}
