/** The gateway's own side of the ledger, summed. */
import type { Asset, ChainName } from '../core/assets.ts'
import { GATEWAY_ACCOUNTS } from '../core/gateway-account.ts'
import type { Queryable } from '../db/database.ts'
import { allRows } from '../db/rows.ts'
import type { OwnSums } from './own-sums.ts'

/**
 * An index of these transfers alone is read, one entry for each settlement; what merchants have is a row for each of them.
 *
 * @param of - Of one coin of one chain; of all when left out.
 */
export const readOwnSums = (
  db: Queryable,
  of: { readonly chain: ChainName; readonly asset: Asset } | null = null,
): Promise<OwnSums[]> =>
  allRows(
    db,
    `with own as (
       select chain, asset, debit, credit, amount_atoms as atoms from transfers
       where (debit in ('fees', 'capital', 'network_fees', 'loss') or credit in ('fees', 'capital', 'network_fees', 'loss'))
         and ($2::text is null or chain = $2 and asset = $3)
     ), sums as (
       select chain, asset,
         coalesce(sum(atoms) filter (where credit = 'fees'), 0) - coalesce(sum(atoms) filter (where debit = 'fees'), 0) as fees,
         coalesce(sum(atoms) filter (where credit = 'capital'), 0)
           - coalesce(sum(atoms) filter (where debit = 'capital'), 0) as capital,
         coalesce(sum(atoms) filter (where debit = 'network_fees'), 0)
           - coalesce(sum(atoms) filter (where credit = 'network_fees'), 0) as "networkFees",
         coalesce(sum(atoms) filter (where debit = 'loss'), 0) - coalesce(sum(atoms) filter (where credit = 'loss'), 0) as loss
       from own group by chain, asset
     ), has as (
       select chain, asset, coalesce(sum(atoms) filter (where account_id = any($1)), 0) as leaving,
         coalesce(sum(atoms) filter (where account_id <> all($1)), 0) as owed
       from balances where $2::text is null or chain = $2 and asset = $3 group by chain, asset
     )
     select chain, asset, coalesce(fees, 0) as fees, coalesce(capital, 0) as capital,
       coalesce("networkFees", 0) as "networkFees", coalesce(loss, 0) as loss, coalesce(leaving, 0) as leaving,
       coalesce(owed, 0) as owed
     from sums full join has using (chain, asset) order by chain, asset`,
    [Object.values(GATEWAY_ACCOUNTS), of?.chain ?? null, of?.asset ?? null],
  )
