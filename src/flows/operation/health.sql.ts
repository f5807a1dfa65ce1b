import type { Asset, ChainName } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'
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

interface BacklogRow {
  frozen: { chain: ChainName; asset: string; reason: string }[]
  alerts: bigint
  decisions_due: bigint
  delivery_due_age_ms: bigint
  deliveries_pending: bigint
  endpoints: { failing: number; disabled: number }
  totals: DeliveryTotal[]
  backup_age_ms: bigint | null
  proof_ages_ms: Partial<Record<ChainName, number>>
  rows_proof_age_ms: bigint | null
  withdrawal_ages_ms: Partial<Record<ChainName, number>>
  unswept: { chain: ChainName; asset: Asset; atoms: string }[]
  fresh: Partial<Record<ChainName, number>>
}

/**
 * What waits, in one round trip; every part reads a partial index of exactly what it counts. The delivery due the
 * longest is the first of some endpoint's queue: one probe an endpoint, whatever waits behind it.
 */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  const { rows } = await db.query<BacklogRow>(
    `with recursive queues as (
       (select account_id, endpoint_id, due_at from deliveries where status = 'pending'
        order by account_id, endpoint_id, due_at limit 1)
       union all
       select n.account_id, n.endpoint_id, n.due_at
       from queues q
       cross join lateral (
         select account_id, endpoint_id, due_at from deliveries
         where status = 'pending' and (account_id, endpoint_id) > (q.account_id, q.endpoint_id)
         order by account_id, endpoint_id, due_at limit 1
       ) n
     )
     select
      (select coalesce(json_agg(json_build_object('chain', chain, 'asset', asset, 'reason', reason)
        order by chain, asset), '[]') from freezes) as frozen,
      (select count(*) from (select from alerts where acknowledged_at is null limit $1) as counted) as alerts,
      (select count(*) from (select from payments where decision_due limit $1) as counted) as decisions_due,
      (select coalesce(greatest(0, extract(epoch from now() - min(due_at)) * 1000), 0)::int8 from queues)
        as delivery_due_age_ms,
      (select count(*) from (select from deliveries where status = 'pending' limit $1) as counted) as deliveries_pending,
      (select json_build_object('failing', count(*) filter (where is_active),
          'disabled', count(*) filter (where disabled_reason is not null))
        from (select is_active, disabled_reason from webhook_endpoints
          where deleted_at is null and (failing_since is not null or disabled_reason is not null)
          limit $1) as ill) as endpoints,
      (select coalesce(json_agg(json_build_object('result', result, 'attempts', attempts, 'durationMs', duration_ms)
        order by result), '[]') from delivery_totals) as totals,
      (select (extract(epoch from now() - max(at)) * 1000)::int8 from audit_log where action = 'backup.make')
        as backup_age_ms,
      (select coalesce(json_object_agg(chain, extract(epoch from now() - proven_at) * 1000), '{}')
        from proven_blocks) as proof_ages_ms,
      (select (extract(epoch from now() - proven_at) * 1000)::int8 from proven_rows) as rows_proof_age_ms,
      (select coalesce(json_object_agg(chain, age_ms), '{}') from
        (select chain, extract(epoch from now() - min(created_at)) * 1000 as age_ms
         from withdrawals where status = 'requested' group by chain) as waiting) as withdrawal_ages_ms,
      (select coalesce(json_agg(json_build_object('chain', chain, 'asset', asset, 'atoms', atoms::text)), '[]') from
        (select chain, asset, sum(amount_atoms) as atoms from deposits
         where booked and sweep is null and asset in ('ETH', 'USDC', 'USDT') group by chain, asset) as lying) as unswept,
      (select coalesce(json_object_agg(chain, fresh), '{}') from
        (select w.chain, (select count(*) from (select from addresses a
          where a.chain = w.chain and a.series = w.series and a.branch = 0 and a.issued_at is null and not a.withheld
          limit $1) as counted) as fresh
        from wallets w where w.retired_at is null) as pool) as fresh`,
    [COUNT_MAX],
  )
  const row = rows[0] as BacklogRow
  return {
    frozen: row.frozen,
    alerts: Number(row.alerts),
    decisionsDue: Number(row.decisions_due),
    deliveryDueAgeMs: Number(row.delivery_due_age_ms),
    deliveriesPending: Number(row.deliveries_pending),
    endpointsFailing: row.endpoints.failing,
    endpointsDisabled: row.endpoints.disabled,
    deliveryTotals: row.totals,
    backupAgeMs: row.backup_age_ms === null ? null : Math.max(0, Number(row.backup_age_ms)),
    proofAgesMs: row.proof_ages_ms,
    rowsProofAgeMs: row.rows_proof_age_ms === null ? null : Math.max(0, Number(row.rows_proof_age_ms)),
    withdrawalAgesMs: row.withdrawal_ages_ms,
    unswept: row.unswept.map(({ atoms, ...of }) => ({ ...of, atoms: BigInt(atoms) })),
    freshAddresses: row.fresh,
  }
}
