/** What waits for a decision of a person. */
import { type Asset, chainFor, type Mode, NETWORKS } from '../../core/assets.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

export interface Attention {
  readonly underpaid: number
  readonly overpaid: number
  /** Expired, cancelled or failed, with funds that are held. */
  readonly late: number
  readonly failingEndpoints: number
  /** Coins that pay nothing out, since the books and the chain of this account's mode differ. */
  readonly frozenCoins: readonly { readonly asset: Asset; readonly since: Date }[]
}

/** Reads what is held, which is little, and not the payments, which are many. */
export async function readAttention(
  db: Queryable,
  account: { readonly id: AccountId; readonly mode: Mode },
): Promise<Attention> {
  const { rows: frozenCoins } = await db.query<Attention['frozenCoins'][number]>(
    'select asset, frozen_at as since from freezes where chain = any($1::text[]) order by asset',
    [NETWORKS.map((network) => chainFor(account.mode, network))],
  )
  const { rows } = await db.query<Omit<Attention, 'frozenCoins'>>(
    `with unresolved as (
       select p.status from payments p
       where p.account_id = $1 and p.id in (
         select u.payment_id from unresolved_funds u where u.account_id = $1 and u.atoms > 0)
     )
     select (count(*) filter (where status = 'underpaid'))::int as underpaid,
       (count(*) filter (where status = 'overpaid'))::int as overpaid,
       (count(*) filter (where status in ('expired', 'cancelled', 'failed')))::int as late,
       (select count(*)::int from webhook_endpoints e where e.account_id = $1 and e.deleted_at is null
          and (e.failing_since < now() - interval '1 hour' or e.disabled_reason is not null)) as "failingEndpoints"
     from unresolved`,
    [account.id],
  )
  return { ...(rows[0] ?? { underpaid: 0, overpaid: 0, late: 0, failingEndpoints: 0 }), frozenCoins }
}
