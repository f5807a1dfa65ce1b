/** Signed transactions on their way: what is sent next, where each is, and what became of it. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'

export interface SignedTransaction {
  readonly chain: ChainName
  readonly txid: string
  readonly line: string
  readonly kind: 'payout' | 'replacement' | 'child' | 'gas' | 'sweep' | 'batch' | 'deploy'
  readonly sender: string | null
  readonly nonce: bigint | null
  readonly asset: Asset
  readonly feeAtoms: bigint
  readonly sentAt: Date | null
  readonly sinceHeight: number | null
  readonly blockHeight: number | null
  readonly blockHash: string | null
}

interface SignedRow {
  chain: ChainName
  txid: string
  line: string
  kind: SignedTransaction['kind']
  sender: string | null
  nonce: bigint | null
  asset: Asset
  fee_atoms: bigint
  sent_at: Date | null
  since_height: bigint | null
  block_height: bigint | null
  block_hash: string | null
}

const COLUMNS = `chain, txid, line, kind, sender, nonce, asset, fee_atoms, sent_at, since_height, block_height, block_hash`

const fromRow = (row: SignedRow): SignedTransaction => ({
  chain: row.chain,
  txid: row.txid,
  line: row.line,
  kind: row.kind,
  sender: row.sender,
  nonce: row.nonce,
  asset: row.asset,
  feeAtoms: row.fee_atoms,
  sentAt: row.sent_at,
  sinceHeight: row.since_height === null ? null : Number(row.since_height),
  blockHeight: row.block_height === null ? null : Number(row.block_height),
  blockHash: row.block_hash,
})

/**
 * Claims what is due to be sent, for half a minute: the newest of each line unless a block holds another of it, on chains
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
): Promise<(SignedTransaction & { readonly raw: string })[]> {
  const { rows } = await db.query<SignedRow & { raw: string }>(
    `with due as (
       select txid from signed_transactions t
       where chain = $1 and outcome is null and block_height is null and send_at <= now()
         and not exists (select from signed_transactions n where n.chain = t.chain and n.line = t.line
           and n.kind = 'replacement' and n.created_at > t.created_at and (n.refusal is null or t.nonce is not null))
         and (kind = 'child' or not exists (select from signed_transactions m where m.chain = t.chain and m.line = t.line
           and m.kind <> 'child' and m.block_height is not null))
       order by refusal is not null, nonce nulls first, created_at limit $3 for update skip locked
     )
     update signed_transactions t set send_at = now() + interval '30 seconds', since_height = coalesce(since_height, $2)
     from due where t.chain = $1 and t.txid = due.txid
     returning ${COLUMNS.replaceAll(/\w+/g, 't.$&')}, t.raw`,
    [chain, tipHeight, limit],
  )
  return rows
    .map((row) => ({ ...fromRow(row), raw: row.raw }))
    .sort(
      (a, b) =>
        Number((a.nonce ?? 0n) - (b.nonce ?? 0n)) || Number(a.kind === 'child') - Number(b.kind === 'child'),
    )
}

export async function markSent(tx: Tx, chain: ChainName, txid: string): Promise<void> {
  await tx.query(
    `update signed_transactions set sent_at = coalesce(sent_at, now()), refusal = null where chain = $1 and txid = $2`,
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
     update signed_transactions t set refusal = left($3, 500), send_at = now() + interval '3 seconds' from before
     where chain = $1 and txid = $2 returning before.refusal is not distinct from t.refusal as is_known`,
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
export async function listUnderWay(
  db: Queryable,
  chain: ChainName,
  after: string | null,
): Promise<SignedTransaction[]> {
  const { rows } = await db.query<SignedRow>(
    `select ${COLUMNS} from signed_transactions
     where chain = $1 and outcome is null and since_height is not null
       and ($2::text is null
         or (created_at, txid) > (select l.created_at, l.txid from signed_transactions l where l.chain = $1 and l.txid = $2))
     order by created_at, txid limit $3`,
    [chain, after, UNDER_WAY_PAGE],
  )
  return rows.map(fromRow)
}

/** Settled ones whose block our chain does not hold any more: a reorganisation deeper than the confirmations. */
export async function listTakenBack(db: Queryable, chain: ChainName): Promise<SignedTransaction[]> {
  const { rows } = await db.query<SignedRow>(
    `select ${COLUMNS.replaceAll(/\w+/g, 't.$&')} from signed_transactions t
     join chains v on v.chain = t.chain
     left join chain_blocks b on b.chain = t.chain and b.height = t.block_height
     where t.chain = $1 and t.outcome in ('confirmed', 'reverted')
       -- Above our tip the watcher only has not read that far yet.
       and t.block_height between v.tip_height - 99 and v.tip_height
       and b.hash is distinct from t.block_hash`,
    [chain],
  )
  return rows.map(fromRow)
}

export interface SeenInBlock {
  readonly height: number
  readonly hash: string
  readonly reverted: boolean
  readonly paidFeeAtoms: bigint
}

/** Where it is now; null for no block, when it is also due to be sent again if we have its bytes. */
export async function markBlock(
  db: Queryable,
  chain: ChainName,
  txid: string,
  block: SeenInBlock | null,
): Promise<void> {
  await db.query(
    `update signed_transactions set block_height = $3, block_hash = $4, reverted = $5, paid_fee_atoms = $6,
       send_at = case when $3::bigint is null and raw is not null then now() else send_at end
     where chain = $1 and txid = $2 and (block_hash is distinct from $4)`,
    [
      chain,
      txid,
      block?.height ?? null,
      block?.hash ?? null,
      block?.reverted ?? false,
      block?.paidFeeAtoms ?? null,
    ],
  )
}

/**
 * Opens a settled line again, with what it displaced: any of it may enter the chain this time. They are sent and followed
 * as before. What was booked stays booked.
 */
export async function reopen(db: Queryable, chain: ChainName, line: string): Promise<void> {
  await db.query(
    `update signed_transactions set outcome = null, block_height = null, block_hash = null,
       send_at = case when send_at = 'infinity' then send_at else now() end
     where chain = $1 and line = $2 and outcome in ('confirmed', 'reverted', 'displaced')`,
    [chain, line],
  )
}

export interface Settling extends SignedTransaction {
  readonly reverted: boolean
  readonly paidFeeAtoms: bigint | null
  readonly bookedFeeAtoms: bigint
  readonly feeBookings: number
  readonly isOpen: boolean
}

/** A whole line, locked in the order of its txids. */
export async function lockLine(tx: Tx, chain: ChainName, line: string): Promise<Settling[]> {
  const { rows } = await tx.query<
    SignedRow & {
      reverted: boolean
      paid_fee_atoms: bigint | null
      booked_fee_atoms: bigint
      fee_bookings: number
      is_open: boolean
    }
  >(
    `select ${COLUMNS}, reverted, paid_fee_atoms, booked_fee_atoms, fee_bookings, outcome is null as is_open
     from signed_transactions where chain = $1 and line = $2 order by txid for update`,
    [chain, line],
  )
  return rows.map((row) => ({
    ...fromRow(row),
    reverted: row.reverted,
    paidFeeAtoms: row.paid_fee_atoms,
    bookedFeeAtoms: row.booked_fee_atoms,
    feeBookings: row.fee_bookings,
    isOpen: row.is_open,
  }))
}

/** The ledger has booked so much as its fee now, in one more entry. */
export async function markFeeBooked(tx: Tx, chain: ChainName, txid: string, atoms: bigint): Promise<void> {
  await tx.query(
    `update signed_transactions set booked_fee_atoms = $3, fee_bookings = fee_bookings + 1
     where chain = $1 and txid = $2`,
    [chain, txid, atoms],
  )
}

export async function setOutcome(
  tx: Tx,
  chain: ChainName,
  txid: string,
  outcome: 'confirmed' | 'reverted' | 'displaced' | 'impossible',
): Promise<void> {
  await tx.query(
    'update signed_transactions set outcome = $3, bump_wanted = false where chain = $1 and txid = $2',
    [chain, txid, outcome],
  )
}

/**
 * Lines that can never enter the chain: a coin that each of their transactions spends is gone. Somebody else spent it; or
 * a reorganisation ended with another transaction in the place of the deposit or the payout of ours that made it. Each in
 * a block this deep. Chains with outputs only.
 */
export async function listImpossible(db: Queryable, chain: ChainName, depth: number): Promise<string[]> {
  const { rows } = await db.query<{ line: string }>(
    `select distinct c.reserved_by as line
     from coins c
     join signed_transactions t on t.chain = c.chain and t.txid = c.reserved_by and t.outcome is null,
     lateral (select v.tip_height - $2::bigint + 1 as height from chains v where v.chain = c.chain) as deep
     where c.chain = $1 and c.reserved_by = c.reserved_first_by and (
       c.spent_height <= deep.height and not exists (select from signed_transactions s where s.chain = c.chain
         and s.txid = c.spent_by and s.line = c.reserved_by)
       or c.block_height is null and exists (select from deposits d where d.chain = c.chain and d.tx_key = c.txid
         and d.output_index = c.output_index and d.replaced_height <= deep.height)
       or c.block_height is null and exists (select from signed_transactions s where s.chain = c.chain and s.txid = c.txid
         and (s.outcome = 'impossible' or s.outcome = 'displaced' and exists (select from signed_transactions m
           where m.chain = s.chain and m.line = s.line and m.outcome = 'confirmed' and m.block_height <= deep.height))))`,
    [chain, depth],
  )
  return rows.map((row) => row.line)
}

/** A line of a chain with accounts that no block took for long. */
export interface OverdueLine {
  readonly line: string
  readonly sender: string
  readonly nonce: bigint
}

/** Those that wait for more than ten minutes, each sender's in the order of its nonces. */
export async function listOverdue(db: Queryable, chain: ChainName): Promise<OverdueLine[]> {
  const { rows } = await db.query<OverdueLine>(
    `select line, sender, nonce from signed_transactions t
     where chain = $1 and txid = line and outcome is null and nonce is not null
       and created_at < now() - interval '10 minutes'
       and not exists (select from signed_transactions m where m.chain = t.chain and m.line = t.line
         and m.block_height is not null)
     order by sender, nonce limit 200`,
    [chain],
  )
  return rows
}

/** Gives back the coins of a line that can never spend them. */
export async function releaseCoins(tx: Tx, chain: ChainName, line: string): Promise<void> {
  await tx.query(
    'update coins set reserved_by = null, reserved_first_by = null where chain = $1 and reserved_by = $2',
    [chain, line],
  )
}

/** Gives back the coins that displaced replacements added to what the mined transaction of their line spends. */
export async function releaseAddedCoins(
  tx: Tx,
  chain: ChainName,
  mined: { line: string; txid: string },
): Promise<void> {
  await tx.query(
    `update coins c set reserved_by = null, reserved_first_by = null
     from signed_transactions m
     join signed_transactions s on s.chain = m.chain and s.line = m.line and s.created_at > m.created_at
       and s.outcome = 'displaced'
     where m.chain = $1 and m.txid = $3 and c.chain = $1 and c.reserved_by = $2 and c.reserved_first_by = s.txid
       and c.spent_by is null`,
    [chain, mined.line, mined.txid],
  )
}

/**
 * Wishes for a bump of lines that wait too long: sent, in no block, and older than `afterMs` while the network asks for
 * more than they offer. Except on Litecoin those too that the node never took, because it refuses what offers too little: a
 * replacement needs none of what it replaces. On chains with accounts the first waiting nonce of a sender is bumped after
 * five times that long whatever it offers: no block takes it, and all later ones wait behind it.
 *
 * @returns How many were marked now.
 */
export async function wishBumps(
  db: Queryable,
  chain: ChainName,
  of: { afterMs: number; rate: bigint },
): Promise<number> {
  const { rowCount } = await db.query(
    `update signed_transactions t set bump_wanted = true
     where chain = $1 and outcome is null and block_height is null and not bump_wanted
       and (sent_at is not null or refusal is not null and chain not like '%litecoin')
       and created_at < now() - $2::bigint * interval '1 millisecond'
       and (fee_rate < $3 or nonce is not null and created_at < now() - 5 * $2::bigint * interval '1 millisecond'
         and not exists (select from signed_transactions b where b.chain = t.chain and b.sender = t.sender
           and b.nonce < t.nonce and b.outcome is null and b.block_height is null))
       and not exists (select from signed_transactions n where n.chain = t.chain and n.line = t.line
         and n.created_at > t.created_at)`,
    [chain, of.afterMs, of.rate],
  )
  return rowCount
}

/** Asks the signer to bump one line now. @returns Whether it is open and in no block. */
export async function wishBump(db: Queryable, chain: ChainName, line: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update signed_transactions set bump_wanted = true
     where chain = $1 and txid = $2 and outcome is null and block_height is null`,
    [chain, line],
  )
  return rowCount > 0
}
