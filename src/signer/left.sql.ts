/** What left of a coin lately, as the rows of all signers say; each signer's own journal says what it signed itself. */
import { ASSET_FACTS, type Asset } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'

/**
 * Atoms that were signed away within the last hour and the last day by the database's clock, counted as journals count
 * them: what payouts pay, and of each fee what it adds to that of the transaction it replaces.
 */
export async function sumSigned(db: Queryable, asset: Asset): Promise<{ hour: bigint; day: bigint }> {
  const { network } = ASSET_FACTS[asset]
  const { rows } = await db.query<{ hour: bigint; day: bigint }>(
    `select coalesce(sum(atoms) filter (where created_at > clock_timestamp() - interval '1 hour'), 0) as hour,
       coalesce(sum(atoms), 0) as day
     from (
       select t.created_at,
         case when t.kind = 'payout' and t.asset = $2 then t.value_atoms else 0 end
         + case when not $3 then 0 when t.kind = 'replacement' then greatest(0, t.fee_atoms - coalesce((
             select max(r.fee_atoms) from signed_transactions r where r.chain = t.chain and r.replacement_set = t.replacement_set
               and r.kind <> 'child' and r.created_at < t.created_at), 0))
           else t.fee_atoms end as atoms
       from signed_transactions t
       where t.chain = $1 and t.created_at > clock_timestamp() - interval '1 day'
     ) signed`,
    [network, asset, network !== 'ethereum' || asset === 'ETH'],
  )
  return rows[0] ?? { hour: 0n, day: 0n }
}
