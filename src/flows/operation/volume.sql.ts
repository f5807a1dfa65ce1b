/** What goes through the gateway, for graphs: how many payments are in which state, and what came and went within a day. */
import { type Asset, CHAINS, type ChainName, type Mode } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'

export interface Volume {
  readonly payments: readonly { readonly mode: Mode; readonly status: string; readonly count: bigint }[]
  /** Booked within 24 hours: what buyers and the operator sent to the gateway, and what left it. */
  readonly moved: readonly {
    readonly chain: ChainName
    readonly asset: Asset
    readonly inAtoms: bigint
    readonly outAtoms: bigint
  }[]
}

/** Counts are kept by a trigger, so none is counted here; of the transfers an index of those of the wallets is read, by time. */
export async function readVolume(db: Queryable): Promise<Volume> {
  const [payments, moved] = await Promise.all([
    db.query<Volume['payments'][number]>(
      `select a.mode, c.status, sum(c.payments) as count from payment_counts c join accounts a on a.id = c.account_id
       group by a.mode, c.status having sum(c.payments) > 0 order by a.mode, c.status`,
    ),
    db.query<Volume['moved'][number]>(
      `select chain, asset, coalesce(sum(amount_atoms) filter (where debit = 'wallet'), 0) as "inAtoms",
         coalesce(sum(amount_atoms) filter (where debit <> 'wallet'), 0) as "outAtoms"
       from transfers
       where chain = any($1) and created_at > now() - interval '1 day' and (debit = 'wallet' or credit = 'wallet')
       group by chain, asset order by chain, asset`,
      [CHAINS],
    ),
  ])
  return { payments: payments.rows, moved: moved.rows }
}
