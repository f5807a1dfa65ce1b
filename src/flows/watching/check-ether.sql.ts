/** What is recorded about the ether of our addresses, to be compared with what they hold. */
import type { ChainName } from '../../core/assets.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { openSql } from '../../treasury/signed-transaction.ts'

/** Whether a comparison of all addresses is due. */
export async function isEtherCheckDue(db: Queryable, chain: ChainName): Promise<boolean> {
  const { rows } = await db.query<{ due: boolean }>(
    `select ether_checked_at is null or ether_checked_at < now() - interval '1 day' as due from chains where chain = $1`,
    [chain],
  )
  return rows[0]?.due ?? false
}

export async function markEtherChecked(tx: Tx, chain: ChainName): Promise<void> {
  await tx.query('update chains set ether_checked_at = now() where chain = $1', [chain])
}

/** Blocks were read without their state, or taken away: ether may have arrived that no block shows us now. */
export async function markEtherUnchecked(tx: Tx, chain: ChainName): Promise<void> {
  await tx.query('update chains set ether_checked_at = null where chain = $1', [chain])
}

export interface RecordedEther {
  readonly address: string
  readonly lookup: Buffer
  /** Deposits in blocks and our own gas, less what the address sent, up to the tip. */
  readonly recordedAtoms: bigint
  readonly tipHash: string
}

/**
 * Issued addresses in the order of their lookups, with their recorded ether and the tip that it was recorded up to: one
 * statement, so both are of one moment. Left out are addresses with a transaction of their own whose end is not
 * known yet: until it is, nobody can say what they should hold.
 */
export async function listRecordedEther(
  db: Queryable,
  chain: ChainName,
  after: Buffer,
  limit: number,
): Promise<RecordedEther[]> {
  const { rows } = await db.query<{ address: string; lookup: Buffer; atoms: bigint; tip_hash: string }>(
    `select a.address, a.lookup, c.tip_hash,
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
     where a.chain = $1 and a.lookup > $2 and a.payment_id is not null and sent.open is not true
     order by a.lookup limit $3`,
    [chain, after, limit],
  )
  return rows.map((row) => ({
    address: row.address,
    lookup: row.lookup,
    recordedAtoms: row.atoms,
    tipHash: row.tip_hash,
  }))
}
