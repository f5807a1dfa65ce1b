/** What a node said when it was asked whether a withdrawal would revert. */
import type { ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { allRows } from '../db/rows.ts'
import type { RehearsalNote, Withdrawal } from './withdrawal.ts'

export type Unrehearsed = Pick<
  Withdrawal,
  'accountId' | 'id' | 'chain' | 'asset' | 'amountAtoms' | 'netAtoms' | 'destination'
>

/**
 * Requests that nothing was signed for, and about which no node was asked for a while: those that were asked about longest ago
 * first, so that none waits for ever behind others.
 */
export const listUnrehearsed = (db: Queryable, chain: ChainName, limit: number): Promise<Unrehearsed[]> =>
  allRows(
    db,
    `select account_id as "accountId", id, chain, asset, amount_atoms as "amountAtoms", net_atoms as "netAtoms", destination
     from withdrawals w
     where chain = $1 and status = 'requested' and refused_reason is null and not cancel_wanted
       and not exists (select from freezes f where f.chain = w.chain and f.asset = w.asset)
       and (rehearsed_at is null
         or rehearsed_at < now() - case rehearsal when 'unclear' then interval '10 seconds' else interval '1 minute' end)
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)
     order by rehearsed_at nulls first, created_at, id limit $2`,
    [chain, limit],
  )

/** Writes down what a node said of a request that waits, if it may use so much gas. */
export async function noteRehearsal(
  db: Queryable,
  { accountId, id }: Pick<Withdrawal, 'accountId' | 'id'>,
  rehearsal: RehearsalNote,
  gasMax: bigint,
): Promise<void> {
  await db.query(
    `update withdrawals set rehearsal = $3, rehearsed_gas = $4, rehearsed_at = now()
     where account_id = $1 and id = $2 and status = 'requested'`,
    [accountId, id, rehearsal, gasMax],
  )
}
