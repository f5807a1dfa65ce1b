/** What is recorded about the ether of our addresses, to be compared with what they hold. */
import type { ChainName } from '../../core/assets.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { openSql } from '../../treasury/signed-transaction.ts'

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
  /** Deposits in blocks and our own gas, less what the address sent, up to the tip. */
  readonly recordedAtoms: bigint
  readonly tipHash: string
  /** It has a transaction of its own whose end is not known yet: until it is, nobody can say what it should hold. */
  readonly isOpen: boolean
}

/**
 * Issued addresses, the newest first, with their recorded ether and the tip that it was recorded up to: one statement, so
 * both are of one moment. Read in order from `addresses_recent`, a page at a time.
 */
export async function listRecordedEther(
  db: Queryable,
  chain: ChainName,
  { after }: EtherCheck,
  limit: number,
): Promise<RecordedEther[]> {
  const { rows } = await db.query<{
    address: string
    lookup: Buffer
    atoms: bigint
    tip_hash: string
    is_open: boolean
  }>(
    `select a.address, a.lookup, c.tip_hash, coalesce(sent.open, false) as is_open,
       coalesce((select sum(d.amount_atoms) from deposits d
         where d.chain = a.chain and d.address = a.address and d.asset = 'ETH' and d.block_height is not null), 0)
       + coalesce((select sum(g.atoms) from gas_funding g where g.chain = a.chain and g.address = a.address), 0)
       - coalesce(sent.atoms, 0) as atoms
     from addresses a join chains c on c.chain = a.chain
     left join lateral (
       select sum(s.paid_fee_atoms + case when s.status = 'confirmed' and s.asset = 'ETH' then s.value_atoms else 0 end) as atoms,
         bool_or(${openSql('s')} or s.status in ('confirmed', 'reverted') and (s.paid_fee_atoms is null or s.block_height > c.tip_height)) as open
       from signed_transactions s
       where s.chain = a.chain and s.sender = a.address and s.status not in ('displaced', 'impossible')
     ) sent on true
     where a.chain = $1 and a.issued_at is not null and (a.issued_at, a.lookup) < ($2::timestamptz, $3::bytea)
     order by a.issued_at desc, a.lookup desc limit $4`,
    [chain, after?.issuedAt ?? 'infinity', after?.lookup ?? Buffer.alloc(0), limit],
  )
  return rows.map((row) => ({
    address: row.address,
    lookup: row.lookup,
    recordedAtoms: row.atoms,
    tipHash: row.tip_hash,
    isOpen: row.is_open,
  }))
}
