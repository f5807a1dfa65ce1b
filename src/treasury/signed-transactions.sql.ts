/** Signed transactions on their way: what is sent next, where each is, and what became of it. */
import { type Asset, type ChainName, networkOfChain } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, anyRow, countRows } from '../db/rows.ts'
import {
  lostCoinSql,
  openSql,
  SIGNED_STATUSES,
  type SignedKind,
  type SignedStatus,
  type SignedTrigger,
  signedStatusAfter,
  unrivalledSql,
} from './signed-transaction.ts'

export interface SignedTransaction {
  readonly chain: ChainName
  readonly txid: string
  /** The transaction that opened its replacement set. */
  readonly replacementSet: string
  readonly kind: SignedKind
  readonly status: SignedStatus
  readonly sender: string | null
  readonly nonce: bigint | null
  readonly asset: Asset
  readonly feeAtoms: bigint
  readonly sentAt: Date | null
  readonly sinceHeight: number | null
  readonly blockHeight: number | null
  readonly blockHash: string | null
}

/** Of signed transactions `t`. */
const COLUMNS = `t.chain, t.txid, t.replacement_set as "replacementSet", t.kind, t.status, t.sender, t.nonce, t.asset,
  t.fee_atoms as "feeAtoms", t.sent_at as "sentAt", t.since_height::float8 as "sinceHeight", t.block_height::float8 as "blockHeight",
  t.block_hash as "blockHash"`

/** The states that a trigger can befall. */
const before = (trigger: SignedTrigger): SignedStatus[] =>
  SIGNED_STATUSES.filter((status) => signedStatusAfter(status, trigger) !== null)
const listed = (statuses: readonly SignedStatus[]): string =>
  statuses.map((status) => `'${status}'`).join(', ')

/** SQL: `t` is in a state that the trigger can befall. */
const canSql = (trigger: SignedTrigger): string => `t.status in (${listed(before(trigger))})`

/** SQL: what the table of transitions makes of `t.status`. */
const afterSql = (trigger: SignedTrigger): string =>
  `case t.status ${before(trigger)
    .map((status) => `when '${status}' then '${signedStatusAfter(status, trigger)}'`)
    .join(' ')} end`

/** SQL: the same after a reorganisation, whether its bytes are here or not. */
const TAKEN_BACK = `case when t.raw is null then ${afterSql('reorganised_without_bytes')} else ${afterSql('reorganised')} end`

export interface ToSend extends SignedTransaction {
  readonly raw: string
}

/**
 * Claims what is due to be sent, for half a minute: the newest of each replacement set unless a block holds another of it, on chains
 * with outputs the one before too while the node refuses the newest; parents before children, nonces in order.
 * What was refused before comes last, so that it holds up nothing else, however much it is. Notes the tip before the first
 * sending, so that the transaction is found whatever happens after. Rows that another worker claims at this moment are
 * skipped.
 */
export async function claimToSend(
  db: Queryable,
  chain: ChainName,
  tipHeight: number,
  limit: number,
): Promise<ToSend[]> {
  const { rows } = await db.query<ToSend>(
    `with due as (
       select txid from signed_transactions t
       where chain = $1 and ${openSql('t')} and t.status in ('ready', 'sent', 'refused') and send_at <= now()
         and not exists (select from signed_transactions n where n.chain = t.chain and n.replacement_set = t.replacement_set
           and n.kind = 'replacement' and n.created_at > t.created_at and (n.status <> 'refused' or t.nonce is not null))
         and ${unrivalledSql('t')}
       order by status = 'refused', nonce nulls first, created_at limit $3 for update skip locked
     )
     update signed_transactions t set send_at = now() + interval '30 seconds', since_height = coalesce(since_height, $2)
     from due where t.chain = $1 and t.txid = due.txid
     returning ${COLUMNS}, t.raw`,
    [chain, tipHeight, limit],
  )
  return rows.sort(
    (a, b) =>
      Number((a.nonce ?? 0n) - (b.nonce ?? 0n)) || Number(a.kind === 'child') - Number(b.kind === 'child'),
  )
}

/**
 * Gives back what was claimed and not tried: it is due at once. Locks them in the order of their txids, as
 * {@link lockReplacementSet} does, and waits for none.
 */
export async function returnToSend(db: Queryable, chain: ChainName, txids: readonly string[]): Promise<void> {
  await db.query(
    `with untried as (
       select txid from signed_transactions where chain = $1 and txid = any($2::text[])
       order by txid for update skip locked
     )
     update signed_transactions t set send_at = now() from untried u where t.chain = $1 and t.txid = u.txid`,
    [chain, txids],
  )
}

/** A node, or a block, has it. */
export async function markSent(tx: Tx, chain: ChainName, txid: string): Promise<void> {
  await tx.query(
    `update signed_transactions t set status = ${afterSql('sent')}, sent_at = coalesce(sent_at, now()), refusal = null
     where chain = $1 and txid = $2 and ${canSql('sent')}`,
    [chain, txid],
  )
}

/** What the node said, and a sooner next attempt than for what it took. @returns Whether it said so before. */
export async function markRefusedByNode(
  db: Queryable,
  chain: ChainName,
  txid: string,
  reason: string,
): Promise<boolean> {
  const { rows } = await db.query<{ is_known: boolean }>(
    `with before as (select refusal from signed_transactions where chain = $1 and txid = $2 for update)
     update signed_transactions t set status = ${afterSql('refused')}, send_at = now() + interval '3 seconds',
       refusal = case ${afterSql('refused')} when 'refused' then left($3, 500) end from before
     where chain = $1 and txid = $2 and ${canSql('refused')}
     returning before.refusal is not distinct from left($3, 500) as is_known`,
    [chain, txid, reason],
  )
  return rows[0]?.is_known ?? false
}

const UNDER_WAY_PAGE = 500

/**
 * What no block holds deep enough yet and may have been sent, the oldest first, page by page.
 *
 * @param after - The last txid of the page before; null for the first page.
 */
export const listUnderWay = (
  db: Queryable,
  chain: ChainName,
  after: string | null,
): Promise<SignedTransaction[]> =>
  allRows(
    db,
    `select ${COLUMNS} from signed_transactions t
     where chain = $1 and ${openSql('t')} and status <> 'placed'
       and ($2::text is null
         or (created_at, txid) > (select l.created_at, l.txid from signed_transactions l where l.chain = $1 and l.txid = $2))
     order by created_at, txid limit $3`,
    [chain, after, UNDER_WAY_PAGE],
  )

/** Ended ones whose block our chain does not hold any more: a reorganisation deeper than the confirmations. */
export const listTakenBack = (db: Queryable, chain: ChainName): Promise<SignedTransaction[]> =>
  allRows(
    db,
    `select ${COLUMNS} from unseen_ends() t
     where chain = $1 and block_height <= (select v.tip_height from chains v where v.chain = $1)`,
    [chain],
  )

/** One that ended in a block that is none of ours: a reorganisation took it, or the watcher has not read that far. */
export async function findUnseenEnd(db: Queryable, chain: ChainName): Promise<string | null> {
  const { rows } = await db.query<{ txid: string }>(
    // All of them, which are few: for the first alone PostgreSQL would rather walk the whole table.
    'select txid from unseen_ends() where chain = $1',
    [chain],
  )
  return rows[0]?.txid ?? null
}

export interface SeenInBlock {
  readonly height: number
  readonly hash: string
  readonly reverted: boolean
  readonly paidFeeAtoms: bigint
}

/** The block that holds it now. */
export async function markMined(
  db: Queryable,
  chain: ChainName,
  txid: string,
  block: SeenInBlock,
): Promise<void> {
  const trigger = block.reverted ? 'mined_reverted' : 'mined'
  await db.query(
    `update signed_transactions t set status = ${afterSql(trigger)}, refusal = null,
       block_height = $3, block_hash = $4, paid_fee_atoms = $5
     where chain = $1 and txid = $2 and block_hash is distinct from $4 and ${canSql(trigger)}`,
    [chain, txid, block.height, block.hash, block.paidFeeAtoms],
  )
}

/** No block holds it any more: it is due to be sent again, if we have its bytes. */
export async function markUnmined(db: Queryable, chain: ChainName, txid: string): Promise<void> {
  await db.query(
    `update signed_transactions t set status = ${TAKEN_BACK}, block_height = null, block_hash = null,
       paid_fee_atoms = null, send_at = now()
     where chain = $1 and txid = $2 and status in ('mined', 'mined_reverted')`,
    [chain, txid],
  )
}

/**
 * Opens an ended replacement set again, with what it displaced: any of it may enter the chain this time. They are sent and
 * followed as before. What was booked stays booked.
 */
export async function reopen(db: Queryable, chain: ChainName, replacementSet: string): Promise<void> {
  await db.query(
    `update signed_transactions t set status = ${TAKEN_BACK}, block_height = null, block_hash = null,
       paid_fee_atoms = null, send_at = now()
     where chain = $1 and replacement_set = $2 and status in ('confirmed', 'reverted', 'displaced')`,
    [chain, replacementSet],
  )
}

export interface SetMember extends SignedTransaction {
  readonly paidFeeAtoms: bigint | null
  readonly bookedFeeAtoms: bigint
  readonly feeBookings: number
}

/** A whole replacement set, locked in the order of its txids. */
export const lockReplacementSet = (tx: Tx, chain: ChainName, replacementSet: string): Promise<SetMember[]> =>
  allRows(
    tx,
    `select ${COLUMNS}, paid_fee_atoms as "paidFeeAtoms", booked_fee_atoms as "bookedFeeAtoms", fee_bookings as "feeBookings"
     from signed_transactions t where chain = $1 and replacement_set = $2 order by txid for update`,
    [chain, replacementSet],
  )

/** The ledger has booked so much as its fee now, in one more entry. */
export async function markFeeBooked(tx: Tx, chain: ChainName, txid: string, atoms: bigint): Promise<void> {
  await tx.query(
    `update signed_transactions set booked_fee_atoms = $3, fee_bookings = fee_bookings + 1
     where chain = $1 and txid = $2`,
    [chain, txid, atoms],
  )
}

/**
 * Ends a locked transaction.
 *
 * @throws {InvariantBroken} when that can not befall it where it is.
 */
export async function end(
  tx: Tx,
  { chain, txid, status }: Pick<SignedTransaction, 'chain' | 'txid' | 'status'>,
  trigger: 'buried' | 'displaced' | 'impossible',
): Promise<void> {
  const { rowCount } = await tx.query(
    `update signed_transactions t set status = ${afterSql(trigger)}, bump_wanted = false, refusal = null
       ${trigger === 'buried' ? '' : ', block_height = null, block_hash = null, paid_fee_atoms = null'}
     where chain = $1 and txid = $2 and ${canSql(trigger)}`,
    [chain, txid],
  )
  invariant(rowCount === 1, `transaction ${txid} of ${chain} is ${status} and can not become ${trigger}`)
}

/**
 * Wishes for a bump of what waits too long: sent, in no block, and older than `afterMs` while the network asks for
 * more than they offer. Except on Litecoin those too that the node never took, because it refuses what offers too little: a
 * replacement needs none of what it replaces. On chains with accounts the first waiting nonce of a sender is bumped after
 * five times that long whatever it offers: no block takes it, and all later ones wait behind it. Sweeps of ether are not among
 * these ({@link wishSweepBumps}).
 *
 * @returns How many were marked now.
 */
export const wishBumps = (
  db: Queryable,
  chain: ChainName,
  of: { afterMs: number; rate: bigint },
): Promise<number> =>
  countRows(
    db,
    `update signed_transactions t set bump_wanted = true
     where chain = $1 and ${openSql('t')} and not bump_wanted
       and block_height is null and not ${lostCoinSql('t')}
       and (sent_at is not null or status = 'refused' and $4::boolean)
       -- Nobody is in a hurry for a consolidation, unless somebody waits to be paid.
       and (t.kind <> 'consolidation' or exists (select from withdrawals w where w.chain = t.chain and w.status = 'requested'))
       and created_at < now() - $2::bigint * interval '1 millisecond'
       and (fee_rate < $3 or nonce is not null and created_at < now() - 5 * $2::bigint * interval '1 millisecond'
         and not exists (select from signed_transactions b where b.chain = t.chain and b.sender = t.sender
           and b.nonce < t.nonce and ${openSql('b')} and b.block_height is null))
       and not exists (select from signed_transactions n where n.chain = t.chain and n.replacement_set = t.replacement_set
         and n.created_at > t.created_at)
       and not exists (select from sweeps s
         where s.chain = t.chain and s.replacement_set = t.replacement_set and s.asset = 'ETH')`,
    [chain, of.afterMs, of.rate, networkOfChain(chain) !== 'litecoin'],
  )

/**
 * Wishes for a bump of sweeps of ether that offer less than the network asks for, and wait too long. Nobody waits behind the nonce
 * of a deposit address, and the fee is taken from what it holds: so only where that is worth a sweep at the price of now, and not
 * while the address holds less than was signed for it: no fee lets that in, and each bump would leave less when the coins come back.
 *
 * @param of.atomsMin - What is worth a sweep now.
 * @returns How many were marked now.
 */
export const wishSweepBumps = (
  db: Queryable,
  chain: ChainName,
  of: { afterMs: number; rate: bigint; atomsMin: bigint },
): Promise<number> =>
  countRows(
    db,
    `update signed_transactions t set bump_wanted = true
     from sweeps s cross join lateral ether_of(s.chain, s.address) e
     where t.chain = $1 and ${openSql('t')} and not t.bump_wanted and t.block_height is null
       and (t.sent_at is not null or t.status = 'refused')
       and t.created_at < now() - $2::bigint * interval '1 millisecond' and t.fee_rate < $3
       and s.chain = t.chain and s.replacement_set = t.replacement_set and s.asset = 'ETH' and s.atoms >= $4
       and e.observed_atoms + e.given_atoms - e.sent_atoms >= t.value_atoms + t.fee_atoms
       and not exists (select from signed_transactions n where n.chain = t.chain and n.replacement_set = t.replacement_set
         and n.created_at > t.created_at)`,
    [chain, of.afterMs, of.rate, of.atomsMin],
  )

/** Asks the signer to bump one replacement set now. @returns Whether it is open and in no block. */
export const wishBump = (db: Queryable, chain: ChainName, replacementSet: string): Promise<boolean> =>
  anyRow(
    db,
    `update signed_transactions t set bump_wanted = true
     where chain = $1 and txid = $2 and ${openSql('t')} and block_height is null`,
    [chain, replacementSet],
  )
