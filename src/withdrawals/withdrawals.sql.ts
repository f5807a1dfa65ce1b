/** Rows of withdrawals. What was requested never changes; only its status, and what became of it. */
import type { Asset, ChainName } from '../core/assets.ts'
import { type AccountId, showId, type WithdrawalId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf, overRows } from '../db/row-statements.ts'
import { allRows, anyRow } from '../db/rows.ts'
import { runRows } from '../db/together.ts'
import {
  type FailureReason,
  isPayable,
  type WaitingFor,
  type Withdrawal,
  type WithdrawalStatus,
} from './withdrawal.ts'

/** What was asked for, of withdrawals `w`. */
export const WITHDRAWAL_REQUEST_COLUMNS = `w.account_id as "accountId", w.id, w.kind, w.payment_id as "paymentId", w.chain, w.asset,
  w.amount_atoms as "amountAtoms", w.fee_atoms as "feeAtoms", w.network_fee_atoms as "networkFeeAtoms", w.net_atoms as "netAtoms",
  w.destination, w.asked_by as "askedBy"`

/** All of withdrawals `w`. */
export const WITHDRAWAL_COLUMNS = `${WITHDRAWAL_REQUEST_COLUMNS}, w.status, w.tx_hash as "txHash", w.created_at as "createdAt",
  w.completed_at as "completedAt", w.refused_reason as "refusedReason", w.waiting_for as "waitingFor", w.cancel_wanted as "cancelWanted"`

/** @param where - What follows `from withdrawals w`. */
const read = (db: Queryable, where: string, values: readonly unknown[]): Promise<Withdrawal[]> =>
  allRows(db, `select ${WITHDRAWAL_COLUMNS} from withdrawals w ${where}`, values)

/** The newest withdrawals of an account, refunds included. */
export const listRecentWithdrawals = (
  db: Queryable,
  accountId: AccountId,
  limit: number,
): Promise<Withdrawal[]> =>
  read(db, 'where account_id = $1 order by created_at desc, id desc limit $2', [accountId, limit])

export async function findWithdrawal(
  db: Queryable,
  accountId: AccountId,
  id: WithdrawalId,
): Promise<Withdrawal | null> {
  const [withdrawal] = await read(db, 'where account_id = $1 and id = $2', [accountId, id])
  return withdrawal ?? null
}

export async function lockWithdrawal(
  tx: Tx,
  accountId: AccountId,
  id: WithdrawalId,
): Promise<Withdrawal | null> {
  const [withdrawal] = await read(tx, 'where account_id = $1 and id = $2 for update', [accountId, id])
  return withdrawal ?? null
}

/** Those of the withdrawals that are there, locked in the order of the primary key. */
export async function lockByIds(
  tx: Tx,
  wanted: readonly Pick<Withdrawal, 'accountId' | 'id'>[],
): Promise<Withdrawal[]> {
  if (wanted.length === 0) return []
  return read(
    tx,
    `where (account_id, id) in (select * from unnest($1::uuid[], $2::uuid[])) order by account_id, id for update`,
    arraysOf(wanted, 'accountId', 'id'),
  )
}

/** What a replacement set of signed transactions pays, locked in the order of the primary key. */
export const lockPaidBy = (tx: Tx, chain: ChainName, replacementSet: string): Promise<Withdrawal[]> =>
  read(
    tx,
    `where exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id
       and s.chain = $1 and s.replacement_set = $2)
     order by account_id, id for update`,
    [chain, replacementSet],
  )

/** The signer will never sign it; the worker gives the hold back. Changes nothing once something is being signed. */
export async function markRefused(
  db: Queryable,
  request: Pick<Withdrawal, 'accountId' | 'id'>,
  reason: FailureReason,
): Promise<void> {
  await db.query(
    `update withdrawals w set refused_reason = $3
     where account_id = $1 and id = $2 and status = 'requested' and refused_reason is null and signing_since is null
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)`,
    [request.accountId, request.id, reason],
  )
}

/** Withdrawals that the signer refused and nothing was signed for, but those of `aside`. */
export const listRefused = (
  db: Queryable,
  limit: number,
  aside: readonly WithdrawalId[],
): Promise<Withdrawal[]> =>
  read(
    db,
    `where status = 'requested' and refused_reason is not null and id <> all($2::uuid[])
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)
     order by created_at limit $1`,
    [limit, aside],
  )

/** Whether a transaction that pays it is signed, or is being signed at this moment. */
export const isSigned = (tx: Tx, accountId: AccountId, id: WithdrawalId): Promise<boolean> =>
  anyRow(
    tx,
    `select from withdrawals w where account_id = $1 and id = $2 and (signing_since is not null
       or exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id))`,
    [accountId, id],
  )

/**
 * Marks those of the withdrawals that may be signed for at this moment: from now on none of them can be cancelled. Left out is what
 * is wanted no longer or failed, what a transaction pays already, and what was frozen since it was looked at. Locks all of them in
 * the order of the primary key.
 *
 * @returns Those that are marked.
 */
export async function markSigning(
  tx: Tx,
  wanted: readonly Pick<Withdrawal, 'accountId' | 'id'>[],
): Promise<Pick<Withdrawal, 'accountId' | 'id'>[]> {
  const payable = (await lockByIds(tx, wanted)).filter(isPayable)
  const { rows } = await tx.query<Pick<Withdrawal, 'accountId' | 'id'>>(
    `update withdrawals w set signing_since = clock_timestamp()
     where (account_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))
       and not exists (select from freezes f where f.chain = w.chain and f.asset = w.asset)
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)
     returning account_id as "accountId", id`,
    arraysOf(payable, 'accountId', 'id'),
  )
  return rows
}

/** Nothing was signed for them after all. Locks them in the order of the primary key. */
export async function clearSigning(
  tx: Tx,
  of: readonly Pick<Withdrawal, 'accountId' | 'id'>[],
): Promise<void> {
  await lockByIds(tx, of)
  await tx.query(
    `update withdrawals set signing_since = null
     where (account_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))`,
    arraysOf(of, 'accountId', 'id'),
  )
}

/** Those that were marked at least so many seconds ago, and that no transaction pays. */
export const listSigning = (
  db: Queryable,
  chains: readonly ChainName[],
  seconds: number,
): Promise<Withdrawal[]> =>
  read(
    db,
    `where chain = any($1) and status = 'requested' and signing_since <= clock_timestamp() - make_interval(secs => $2)
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)`,
    [chains, seconds],
  )

/** Writes what became of a locked withdrawal; times are the database's. Of many that one transaction pays, all in one statement. */
export async function updateWithdrawal(
  tx: Tx,
  of: Pick<Withdrawal, 'accountId' | 'id'>,
  change: { status: WithdrawalStatus; txHash: string | null; reason?: FailureReason },
): Promise<Withdrawal> {
  const [row] = await runRows<Withdrawal>(tx, UPDATE_WITHDRAWAL, [
    {
      account_id: of.accountId,
      id: of.id,
      to_status: change.status,
      to_hash: change.txHash,
      reason: change.reason ?? null,
    },
  ])
  if (!row) throw new Error(`withdrawal ${showId('wd', of.id)} was locked and is gone`)
  return row
}

const UPDATE_WITHDRAWAL = overRows(
  { account_id: 'uuid', id: 'uuid', to_status: 'text', to_hash: 'text', reason: 'text' },
  (
    rows,
  ) => `update withdrawals w set status = to_status, tx_hash = to_hash, refused_reason = coalesce(reason, refused_reason),
      broadcast_at = case when to_status in ('broadcast', 'completed') then coalesce(broadcast_at, now()) else broadcast_at end,
      completed_at = case when to_status = 'completed' then coalesce(completed_at, date_trunc('milliseconds', now())) end,
      failed_at = case when to_status = 'failed' then coalesce(failed_at, now()) end
    from ${rows} where w.account_id = r.account_id and w.id = r.id
    returning r.place, ${WITHDRAWAL_COLUMNS}`,
)

/** What of a failed one stays with the gateway: its gas, which was used in vain. */
export async function noteKept(
  tx: Tx,
  of: Pick<Withdrawal, 'accountId' | 'id'>,
  atoms: bigint,
): Promise<void> {
  await tx.query('update withdrawals set kept_atoms = $3 where account_id = $1 and id = $2', [
    of.accountId,
    of.id,
    atoms,
  ])
}

/** Whether a withdrawal of this coin was asked for and nothing is signed for it yet. */
export async function isAskedFor(db: Queryable, chain: ChainName, asset: Asset): Promise<boolean> {
  const { rows } = await db.query<{ is_asked: boolean }>(
    `select exists (select from withdrawals w
       where chain = $1 and asset = $2 and status = 'requested' and refused_reason is null
         and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)) as is_asked`,
    [chain, asset],
  )
  return rows[0]?.is_asked ?? false
}

export interface Promised {
  /** What destinations receive. */
  readonly netAtoms: bigint
  /** What they and the network take together. */
  readonly takenAtoms: bigint
}

/** What was requested on a chain in one coin and nothing was signed for yet. */
export async function sumUnsigned(db: Queryable, chain: ChainName, asset: Asset): Promise<Promised> {
  const { rows } = await db.query<Promised>(
    `select coalesce(sum(net_atoms), 0) as "netAtoms", coalesce(sum(net_atoms + network_fee_atoms), 0) as "takenAtoms"
     from withdrawals w
     where chain = $1 and asset = $2 and status = 'requested' and refused_reason is null
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)`,
    [chain, asset],
  )
  return rows[0] ?? { netAtoms: 0n, takenAtoms: 0n }
}

/** Nothing may be signed for a locked withdrawal from now on. */
export async function wantCancelled(
  tx: Tx,
  { accountId, id }: Pick<Withdrawal, 'accountId' | 'id'>,
): Promise<Withdrawal> {
  const { rows } = await tx.query<Withdrawal>(
    `update withdrawals w set cancel_wanted = true where account_id = $1 and id = $2 returning ${WITHDRAWAL_COLUMNS}`,
    [accountId, id],
  )
  const [row] = rows
  if (!row) throw new Error(`withdrawal ${showId('wd', id)} was locked and is gone`)
  return row
}

/**
 * Those that are wanted no longer and that the signer has not dealt with. While the coin is frozen none is: after a restore a
 * journal may not know what was signed.
 */
export const listCancelWanted = (db: Queryable, chain: ChainName): Promise<Withdrawal[]> =>
  read(
    db,
    `where chain = $1 and status = 'requested' and refused_reason is null and cancel_wanted
       and not exists (select from freezes f where f.chain = w.chain and f.asset = w.asset)
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)
     order by created_at limit 1000`,
    [chain],
  )

/** Changes nothing once it is signed, or fails. */
export async function noteWaiting(
  db: Queryable,
  { accountId, id }: Pick<Withdrawal, 'accountId' | 'id'>,
  waitingFor: WaitingFor,
): Promise<void> {
  await db.query(
    `update withdrawals set waiting_for = $3
     where account_id = $1 and id = $2 and status = 'requested' and waiting_for is distinct from $3`,
    [accountId, id, waitingFor],
  )
}
