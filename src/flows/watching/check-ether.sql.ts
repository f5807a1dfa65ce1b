/** What is recorded about the ether of our addresses, to be compared with what they hold. */
import type { ChainName } from '../../core/assets.ts'
import { SENT_BY_CONTRACT } from '../../core/ether-outputs.ts'
import type { DepositId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { allRows } from '../../db/rows.ts'
import type { PaymentKey } from '../../deposits/deposits.sql.ts'

/** How far a comparison of all addresses came. */
export interface EtherCheck {
  /** The address compared last; null at its beginning. The time as PostgreSQL writes it: to the microsecond. */
  readonly after: { readonly issuedAt: string; readonly lookup: Buffer } | null
}

/** The comparison under way, or a new one when it is time for it; null when none is due. */
export async function openEtherCheck(db: Queryable, chain: ChainName): Promise<EtherCheck | null> {
  const { rows } = await db.query<{ issued_at: string | null; lookup: Buffer | null }>(
    `update chains set ether_begun_at = coalesce(ether_begun_at, clock_timestamp())
     where chain = $1 and (ether_begun_at is not null or ether_checked_at is null
       or ether_checked_at <= ether_asked_at or ether_checked_at < now() - interval '1 day')
     returning ether_after_issued_at::text as issued_at, ether_after_lookup as lookup`,
    [chain],
  )
  const [row] = rows
  if (!row) return null
  return { after: row.lookup && row.issued_at ? { issuedAt: row.issued_at, lookup: row.lookup } : null }
}

/** The addresses up to this one were compared. */
export async function advanceEtherCheck(tx: Tx, chain: ChainName, lookup: Buffer): Promise<void> {
  await tx.query(
    `update chains c set ether_after_issued_at = a.issued_at, ether_after_lookup = a.lookup
     from addresses a where c.chain = $1 and a.chain = $1 and a.lookup = $2`,
    [chain, lookup],
  )
}

/** Every address was compared. What was asked for since this comparison began is due at once. */
export async function endEtherCheck(tx: Tx, chain: ChainName): Promise<void> {
  await tx.query(
    `update chains set ether_checked_at = ether_begun_at, ether_begun_at = null,
       ether_after_issued_at = null, ether_after_lookup = null
     where chain = $1`,
    [chain],
  )
}

/** Ether may have arrived that no block shows us: blocks were read without their state, or taken away. */
export async function askEtherCheck(tx: Tx, chain: ChainName): Promise<void> {
  await tx.query('update chains set ether_asked_at = clock_timestamp() where chain = $1', [chain])
}

export interface RecordedEther {
  readonly address: string
  readonly lookup: Buffer
  /** What blocks of our branch brought and our own gas, less what the address sent in them, up to the tip. */
  readonly recordedAtoms: bigint
  readonly tipHash: string
  /**
   * It has a transaction of its own that is not known to stand in a block of our branch: until it is, nobody can say what it
   * should hold.
   */
  readonly isOpen: boolean
}

/**
 * Issued addresses, the newest first, with their recorded ether and the tip that it was recorded up to: one statement, so
 * both are of one moment. Read in order from `addresses_recent`, a page at a time.
 */
export const listRecordedEther = (
  db: Queryable,
  chain: ChainName,
  { after }: EtherCheck,
  limit: number,
): Promise<RecordedEther[]> =>
  allRows(
    db,
    `select a.address, a.lookup, c.tip_hash as "tipHash", not e.is_certain as "isOpen",
       e.observed_atoms + e.given_atoms - e.sent_atoms as "recordedAtoms"
     from addresses a join chains c on c.chain = a.chain
     cross join lateral ether_of(a.chain, a.address) e
     where a.chain = $1 and a.issued_at is not null and (a.issued_at, a.lookup) < ($2::timestamptz, $3::bytea)
     order by a.issued_at desc, a.lookup desc limit $4`,
    [chain, after?.issuedAt ?? 'infinity', after?.lookup ?? Buffer.alloc(0), limit],
  )

/**
 * How many nonces of an address our own transactions and authorisations have used: while the chain shows no more, nobody
 * else has ever moved anything out of it.
 */
export async function countOwnNonces(db: Queryable, chain: ChainName, address: string): Promise<bigint> {
  const { rows } = await db.query<{ count: bigint }>(
    `select (select count(distinct nonce) from signed_transactions
        where chain = $1 and sender = $2 and block_height is not null)
       + (select count(distinct s.replacement_set) from sweeps s
          join signed_transactions t on t.chain = s.chain and t.replacement_set = s.replacement_set and t.block_height is not null
          where s.chain = $1 and s.address = $2 and s.way = 'batch' and not s.delegates) as count`,
    [chain, address],
  )
  return rows[0]?.count ?? 0n
}

export interface DerivedDeposit extends PaymentKey {
  readonly id: DepositId
  readonly atoms: bigint
}

/** Ether that an address seems to have received from contracts, the newest first, locked in that order. */
export const lockDerived = (tx: Tx, chain: ChainName, address: string): Promise<DerivedDeposit[]> =>
  allRows(
    tx,
    `select id, account_id as "accountId", payment_id as "paymentId", amount_atoms as atoms from deposits
     where chain = $1 and address = $2 and asset = 'ETH' and output_index = $3 and block_height is not null
     order by block_height desc, id desc for update`,
    [chain, address, SENT_BY_CONTRACT],
  )

/** Takes a deposit back that never was: no block holds it, and what is booked of it is booked back when it is decided about. */
export async function withdrawDerived(tx: Tx, { accountId, id }: DerivedDeposit): Promise<void> {
  await tx.query(
    `update deposits set status = 'dropped', block_height = null, block_hash = null
     where account_id = $1 and id = $2`,
    [accountId, id],
  )
}
