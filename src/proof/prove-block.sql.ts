/** What earlier proofs summed up, and the block at which books and chain last agreed. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { firstRow } from '../db/rows.ts'
import { NO_PAST, type PastSums } from './compare-chain.ts'

/** The sums of a chain's past; {@link NO_PAST} before the first. */
export async function readPastSums(db: Queryable, chain: ChainName): Promise<PastSums> {
  const { rows } = await db.query<{
    asset: Asset
    height: bigint
    observed_atoms: bigint
    hot_wallet_atoms: bigint
    booked_before: Date
    wallet_atoms: bigint
  }>('select * from proof_sums where chain = $1', [chain])
  const [first] = rows
  if (!first) return NO_PAST
  return {
    height: Number(first.height),
    bookedBefore: first.booked_before,
    observed: new Map(rows.map((row) => [row.asset, row.observed_atoms])),
    hotWallet: new Map(rows.map((row) => [row.asset, row.hot_wallet_atoms])),
    wallets: new Map(rows.map((row) => [row.asset, row.wallet_atoms])),
  }
}

/** Replaces the sums of a chain's past: all its assets stand at one height and one instant. */
export async function writePastSums(
  tx: Tx,
  chain: ChainName,
  assets: readonly Asset[],
  past: PastSums,
): Promise<void> {
  await tx.query('delete from proof_sums where chain = $1', [chain])
  await tx.query(
    `insert into proof_sums (chain, asset, height, observed_atoms, hot_wallet_atoms, booked_before, wallet_atoms)
     select $1, asset, $2, observed, hot_wallet, $3, wallet
     from unnest($4::text[], $5::numeric[], $6::numeric[], $7::numeric[]) as s (asset, observed, hot_wallet, wallet)`,
    [
      chain,
      past.height,
      past.bookedBefore,
      assets,
      assets.map((asset) => past.observed.get(asset) ?? 0n),
      assets.map((asset) => past.hotWallet.get(asset) ?? 0n),
      assets.map((asset) => past.wallets.get(asset) ?? 0n),
    ],
  )
}

export interface ProvenBlock {
  readonly height: number
  readonly hash: string
  /** Where the next slice of old UTXOs or addresses begins. */
  readonly sliceAfter: string
}

export const findProvenBlock = (db: Queryable, chain: ChainName): Promise<ProvenBlock | null> =>
  firstRow(
    db,
    'select height::float8 as height, hash, slice_after as "sliceAfter" from proven_blocks where chain = $1',
    [chain],
  )

export async function markProven(tx: Tx, chain: ChainName, block: ProvenBlock): Promise<void> {
  await tx.query(
    `insert into proven_blocks (chain, height, hash, slice_after) values ($1, $2, $3, $4)
     on conflict (chain) do update set height = $2, hash = $3, slice_after = $4, proven_at = now()`,
    [chain, block.height, block.hash, block.sliceAfter],
  )
}

/** The block at which the watcher still stands is still proven: noted twice a minute. */
export async function markStillProven(db: Queryable, chain: ChainName): Promise<void> {
  await db.query(
    `update proven_blocks set proven_at = now() where chain = $1 and proven_at < now() - interval '30 seconds'`,
    [chain],
  )
}

/** How long ago a chain's books were last proven, in milliseconds; null before the first proof. */
export async function findProofAge(db: Queryable, chain: ChainName): Promise<number | null> {
  const { rows } = await db.query<{ age: bigint }>(
    'select (extract(epoch from now() - proven_at) * 1000)::int8 as age from proven_blocks where chain = $1',
    [chain],
  )
  return rows[0] ? Number(rows[0].age) : null
}

/** The tip, locked until the transaction ends: the watcher moves it in no other transaction meanwhile. */
export const lockTip = (tx: Tx, chain: ChainName): Promise<{ height: number; hash: string } | null> =>
  firstRow(
    tx,
    'select tip_height::float8 as height, tip_hash as hash from chains where chain = $1 for update',
    [chain],
  )
