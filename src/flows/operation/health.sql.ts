import type { Asset, ChainName } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'
import { oneRow } from '../../db/rows.ts'
import { IS_FREE, QUEUES } from '../../events/deliveries.sql.ts'
import type { DeliveryTotal } from '../../events/delivery-totals.sql.ts'

export interface Backlog {
  /** Chain and asset of every coin that pays nothing out until its books agree with its chain again. */
  readonly frozen: readonly { readonly chain: ChainName; readonly asset: string; readonly reason: string }[]
  /** Alerts that nobody acknowledged. */
  readonly alerts: number
  /** Payments whose chain news nobody has looked at yet. */
  readonly decisionsDue: number
  /** How long the delivery that is due the longest has waited; 0 when none is due. */
  readonly deliveryDueAgeMs: number
  /** Deliveries that wait for an attempt, the first or a later one. */
  readonly deliveriesPending: number
  /** Endpoints whose last attempts failed, and those that Beck disabled for it. */
  readonly endpointsFailing: number
  readonly endpointsDisabled: number
  /** Attempts of all workers since the beginning. */
  readonly deliveryTotals: readonly DeliveryTotal[]
  /** How long ago the newest backup was whole; null where `beck backup` never made one. */
  readonly backupAgeMs: number | null
  /** How long ago books and chain last agreed, per chain that was ever compared. */
  readonly proofAgesMs: Readonly<Partial<Record<ChainName, number>>>
  /** How long ago the rows of the books last agreed with each other; null before the first proof of them. */
  readonly rowsProofAgeMs: number | null
  /** How long the oldest withdrawal waits that no node has yet, per chain; chains without one are left out. */
  readonly withdrawalAgesMs: Readonly<Partial<Record<ChainName, number>>>
  /** Booked deposits that no sweep has taken from their own addresses, in atoms, on chains with accounts. */
  readonly unswept: readonly { readonly chain: ChainName; readonly asset: Asset; readonly atoms: bigint }[]
  /** Fresh deposit addresses per chain that has a wallet. */
  readonly freshAddresses: Readonly<Partial<Record<ChainName, number>>>
}

/** Counted no further than this: enough for every graph, and cheap at any size. */
const COUNT_MAX = 10_000

/**
 * What waits, in one round trip; every part reads a partial index of exactly what it counts. The delivery due the longest is the
 * first of some endpoint's queue that no worker has: one probe an endpoint past those that are being sent, whatever waits behind it.
 */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  type Unswept = { chain: ChainName; asset: Asset; atoms: string }
  const { unswept, ...rest } = await oneRow<Omit<Backlog, 'unswept'> & { unswept: Unswept[] }>(
    db,
    `with recursive ${QUEUES}
     select
      (select coalesce(json_agg(json_build_object('chain', chain, 'asset', asset, 'reason', reason)
        order by chain, asset), '[]') from freezes) as frozen,
      (select count(*)::int from (select from alerts where acknowledged_at is null limit $1) as counted) as alerts,
      (select count(*)::int from (select from payments where decision_due order by created_at limit $1) as counted) as "decisionsDue",
      (select coalesce(greatest(0, round(extract(epoch from now() - min(first.due_at)) * 1000)), 0)::float8
       from queues q cross join lateral (
         select d.due_at from deliveries d
         where d.account_id = q.account_id and d.endpoint_id = q.endpoint_id and d.status = 'pending' and ${IS_FREE}
         order by d.due_at limit 1
       ) first)
        as "deliveryDueAgeMs",
      (select count(*)::int from (select from deliveries where status = 'pending' limit $1) as counted) as "deliveriesPending",
      "endpointsFailing", "endpointsDisabled",
      (select coalesce(json_agg(json_build_object('result', result, 'attempts', attempts, 'durationMs', duration_ms)
        order by result), '[]') from delivery_totals) as "deliveryTotals",
      (select greatest(0, round(extract(epoch from now() - max(at)) * 1000))::float8 from audit_log
        where action = 'backup.make' having max(at) is not null) as "backupAgeMs",
      (select coalesce(json_object_agg(chain, extract(epoch from now() - proven_at) * 1000), '{}')
        from proven_blocks) as "proofAgesMs",
      (select greatest(0, round(extract(epoch from now() - proven_at) * 1000))::float8 from proven_rows) as "rowsProofAgeMs",
      (select coalesce(json_object_agg(chain, age_ms), '{}') from
        (select chain, extract(epoch from now() - min(created_at)) * 1000 as age_ms
         from withdrawals where status = 'requested' group by chain) as waiting) as "withdrawalAgesMs",
      (select coalesce(json_agg(json_build_object('chain', chain, 'asset', asset, 'atoms', atoms::text)), '[]') from
        (select chain, asset, sum(amount_atoms) as atoms from deposits
         where booked and sweep is null and asset in ('ETH', 'USDC', 'USDT') group by chain, asset) as lying) as unswept,
      (select coalesce(json_object_agg(chain, fresh), '{}') from
        (select w.chain, (select count(*) from (select from addresses a
          where a.chain = w.chain and a.series = w.series and a.branch = 0 and a.issued_at is null and not a.withheld
          limit $1) as counted) as fresh
        from wallets w where w.retired_at is null) as pool) as "freshAddresses"
     from (select count(*) filter (where is_active)::int as "endpointsFailing",
         count(*) filter (where disabled_reason is not null)::int as "endpointsDisabled"
       from (select is_active, disabled_reason from webhook_endpoints
         where deleted_at is null and (failing_since is not null or disabled_reason is not null)
         limit $1) as ill) as endpoints`,
    [COUNT_MAX],
  )
  return { ...rest, unswept: unswept.map(({ atoms, ...of }) => ({ ...of, atoms: BigInt(atoms) })) }
}
