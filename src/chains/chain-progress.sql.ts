/**
 * How far Beck has seen each chain, and who may write what it shows. A watcher leads by a lease with an epoch;
 * every write of it passes {@link fence}, so that one that slept through its lease cannot write.
 */
import { type ChainName, nativeAsset } from '../core/assets.ts'
import { OutsideFailure } from '../core/errors.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf, overRowsPrepared } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { runRows } from '../db/together.ts'
import { REORGANISATION_DEPTH_MAX } from './chain.ts'

/**
 * How long a silent watcher keeps its lead. Short, so that a killed process is followed soon; counted from the statement, not from the
 * begin of a transaction that may have waited.
 */
const LEASE = "interval '6 seconds'"

/** Hashes kept: to find a fork, and whose ends are in blocks that are not ours (`unseen_ends` in the schema). */
const BLOCKS_KEPT = 2 * REORGANISATION_DEPTH_MAX

export interface Lease {
  readonly chain: ChainName
  readonly epoch: bigint
  /** The first epoch of those in a row that this watcher has led: nobody else did since. */
  readonly since: bigint
}

export interface ChainProgress {
  readonly chain: ChainName
  /** The hash of block 0, with the chain id on EVM chains: pinned at first contact. */
  readonly identity: string
  /** The block that is followed up to, with its own time. */
  readonly tipHeight: number
  readonly tipHash: string
  readonly tipTime: Date
  /** When the last complete poll began; null before the first. */
  readonly polledAt: Date | null
  /** How long ago that was, by the database's clock: those who poll and those who ask may be on machines that differ. */
  readonly pollAgeMs: number | null
  /** Why the watcher stopped until the operator looks; null while it goes on. */
  readonly haltedReason: string | null
}

const COLUMNS = `chain, identity, tip_height::float8 as "tipHeight", tip_hash as "tipHash", tip_time as "tipTime",
  polled_at as "polledAt", case when polled_at is not null
    then greatest(0, extract(epoch from clock_timestamp() - polled_at) * 1000)::float8 end as "pollAgeMs",
  halted_reason as "haltedReason"`

/** Another watcher leads now, or what this one read is to be read again: it is not to be written. */
export class StaleLease extends OutsideFailure {
  override readonly name = 'StaleLease'
  constructor(lease: Lease) {
    super(`the lease on ${lease.chain} with epoch ${lease.epoch} is over`, {
      retryable: false,
    })
  }
}

export async function findChainProgress(db: Queryable, chain: ChainName): Promise<ChainProgress | null> {
  const [found] = await runRows<ChainProgress & { place: bigint }>(db, FIND, [{ chain }])
  if (!found) return null
  const { place: _, ...progress } = found
  return progress
}

const FIND = overRowsPrepared(
  { chain: 'text' },
  (rows) =>
    `select place, c.* from ${rows} cross join lateral (select ${COLUMNS} from chains where chain = r.chain) c`,
)

export const listChainProgress = (db: Queryable): Promise<ChainProgress[]> =>
  allRows(db, `select ${COLUMNS} from chains order by chain`)

/**
 * First contact with a chain: Beck begins behind this block, and what lies under it is not looked at. Later calls change
 * nothing. @param below - Blocks under it, newest first.
 */
export async function openChain(
  tx: Tx,
  chain: ChainName,
  first: { identity: string; height: number; hash: string; parentHash: string; time: Date },
  below: readonly { height: number; hash: string }[],
): Promise<void> {
  await tx.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time) values ($1, $6, $2, $3, $4, $5)
     on conflict (chain) do nothing`,
    [chain, first.identity, first.height, first.hash, first.time, nativeAsset(chain)],
  )
  await tx.query(
    `insert into chain_blocks (chain, height, hash, parent_hash, block_time) values ($1, $2, $3, $4, $5)
     on conflict (chain, height) do nothing`,
    [chain, first.height, first.hash, first.parentHash, first.time],
  )
  // Their own times were not read; nothing before first contact depends on one.
  await tx.query(
    `insert into chain_blocks (chain, height, hash, parent_hash, block_time)
     select $1, height, hash, coalesce(lead(hash) over (order by height desc), ''), $4
     from unnest($2::bigint[], $3::text[]) as below (height, hash)
     on conflict (chain, height) do nothing`,
    [chain, ...arraysOf(below, 'height', 'hash'), first.time],
  )
}

/**
 * Takes the lead when nobody holds it, with a new epoch; null while another watcher's lease lasts.
 *
 * @param last - The lease that this watcher had before.
 */
export async function takeLease(
  db: Queryable,
  chain: ChainName,
  holder: string,
  last: Lease | null = null,
): Promise<Lease | null> {
  const { rows } = await db.query<{ lease_epoch: bigint }>(
    `update chains set lease_holder = $2, lease_epoch = lease_epoch + 1, lease_until = clock_timestamp() + ${LEASE}
     where chain = $1 and (lease_until is null or lease_until < now())
     returning lease_epoch`,
    [chain, holder],
  )
  const epoch = rows[0]?.lease_epoch
  if (epoch === undefined) return null
  return { chain, epoch, since: last?.epoch === epoch - 1n ? last.since : epoch }
}

/** A leader that reads from a slow node is still there. Writes nothing once another watcher leads. */
export async function renewLease(db: Queryable, lease: Lease): Promise<void> {
  await db.query(
    `update chains set lease_until = clock_timestamp() + ${LEASE} where chain = $1 and lease_epoch = $2 and lease_until is not null`,
    [lease.chain, lease.epoch],
  )
}

/** Gives the lead back at an orderly stop, or when a poll failed, so that the next watcher need not wait. */
export async function releaseLease(db: Queryable, lease: Lease): Promise<void> {
  await db.query('update chains set lease_until = null where chain = $1 and lease_epoch = $2', [
    lease.chain,
    lease.epoch,
  ])
}

/**
 * Who leads reads again what it read, and is refused what it has not written yet: to be called by whoever writes, beside the
 * watchers, what they read before they write. The next poll takes the lead anew.
 */
export async function endLease(tx: Tx, chain: ChainName): Promise<void> {
  await tx.query('update chains set lease_epoch = lease_epoch + 1, lease_until = null where chain = $1', [
    chain,
  ])
}

/**
 * The first statement of every transaction of a watcher. Locks the chain's row until the transaction ends, so a
 * newer leader's epoch and this write can not interleave, and prolongs the lease.
 *
 * @param options.prolongs - False for what runs beside the polls: it is no sign that they go on.
 * @throws {StaleLease} when the epoch is no longer the chain's.
 */
export async function fence(
  tx: Tx,
  lease: Lease,
  options: { prolongs?: boolean } = {},
): Promise<ChainProgress> {
  const { rows } = await tx.query<ChainProgress>(
    `update chains set lease_until = case when $3 then clock_timestamp() + ${LEASE} else lease_until end
     where chain = $1 and lease_epoch = $2 returning ${COLUMNS}`,
    [lease.chain, lease.epoch, options.prolongs ?? true],
    'prepared',
  )
  if (!rows[0]) throw new StaleLease(lease)
  return rows[0]
}

/** A block on top of ours. Blocks too deep for any fork that is followed are forgotten. */
export async function advanceTip(
  tx: Tx,
  chain: ChainName,
  block: { height: number; hash: string; parentHash: string; time: Date },
): Promise<void> {
  await tx.query(
    `insert into chain_blocks (chain, height, hash, parent_hash, block_time) values ($1, $2, $3, $4, $5)
     on conflict (chain, height) do update set hash = excluded.hash, parent_hash = excluded.parent_hash, block_time = excluded.block_time`,
    [chain, block.height, block.hash, block.parentHash, block.time],
  )
  await tx.query('update chains set tip_height = $2, tip_hash = $3, tip_time = $4 where chain = $1', [
    chain,
    block.height,
    block.hash,
    block.time,
  ])
  await tx.query('delete from chain_blocks where chain = $1 and height < $2', [
    chain,
    block.height - BLOCKS_KEPT,
  ])
}

/** Our hash of a block, null when it is older than what is kept. */
export async function findBlockHash(db: Queryable, chain: ChainName, height: number): Promise<string | null> {
  const { rows } = await db.query<{ hash: string }>(
    'select hash from chain_blocks where chain = $1 and height = $2',
    [chain, height],
  )
  return rows[0]?.hash ?? null
}

/** Everything visible before `since` is recorded now. */
export async function markPolled(tx: Tx, chain: ChainName, since: Date): Promise<void> {
  await tx.query(
    'update chains set polled_at = greatest(polled_at, $2) where chain = $1',
    [chain, since],
    'prepared',
  )
}

/** Stops the watcher: every later poll at the chain is refused. */
export async function haltChain(tx: Tx, chain: ChainName, reason: string): Promise<void> {
  await tx.query('update chains set halted_reason = $2 where chain = $1', [chain, reason])
}
