/** Where checkouts stand, in one query for any number of them: what pages are drawn by and what open pages wait for. */

import { POLL_AGE_MS_MAX } from '../../chains/poll-age.ts'
import { type Asset, CHAINS, isSimulated } from '../../core/assets.ts'
import type { PaymentId, SessionId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { arraysOf } from '../../db/row-statements.ts'
import { allRows } from '../../db/rows.ts'
import { inTimeSql, paysForSql } from '../../deposits/received.ts'
import type { PaymentStatus } from '../../payments/payment.ts'
import { REFUNDED_ATOMS } from '../../withdrawals/refunds.sql.ts'

/** What the state of a checkout depends on, and nothing that a buyer should not see. */
export interface CheckoutMoment {
  readonly sessionId: SessionId
  /**
   * Changes whenever anything here changes that a buyer can see: a hash of all but the confirmations, a hyphen, and
   * their number, so that an open page can tell when nothing but they changed.
   */
  readonly version: string
  readonly paymentStatus: PaymentStatus | null
  readonly isSessionCancelled: boolean
  readonly isSessionOver: boolean
  readonly isWindowOver: boolean
  /** The least that pays: what is due less what may be missing, or what support accepted before a reorganisation took it. */
  readonly enoughAtoms: bigint | null
  /** Deposits of the payment's coin that are in a block or may still enter one, dust left out; late ones apart. */
  readonly receivedAtoms: bigint
  readonly lateAtoms: bigint
  /** Of its coin, what a refund took of an underpaid payment: that pays for nothing any more. */
  readonly refundedAtoms: bigint
  /** All that came was booked, and nothing of it is held any more: refunded, unless it settled the payment. */
  readonly isRefunded: boolean
  /** Coins came to an address that this checkout showed before: of {@link readEarlierFunds}. */
  readonly hasEarlierFunds: boolean
  /** A transaction that was seen for this payment was replaced by another one, and nothing else came. */
  readonly isWithdrawn: boolean
  /** The buyer's wallet sent a transaction that was not replaced. */
  readonly isSent: boolean
  /** The fewest among them, at most as many as are required. */
  readonly confirmations: number
  readonly requiredConfirmations: number
  /** Whether the payment's chain is looked at now; true while there is no payment. */
  readonly isChainInSight: boolean
}

/**
 * What came to the payments that a session left, each with deposits `d`: coins on their way, coins that are held, and
 * those that support accepted. What was refunded is nothing that a buyer has to ask about any more.
 */
const EARLIER = `payments o join deposits d on d.account_id = o.account_id and d.payment_id = o.id
  where o.account_id = s.account_id and o.checkout_session_id = s.id and o.id is distinct from s.payment_id
    and ${paysForSql('d', 'o')}
    and (not d.booked or o.status in ('completed', 'overpaid') or exists (select from unresolved_funds u
      where u.account_id = o.account_id and u.payment_id = o.id and u.asset = o.asset and u.atoms > 0))`

/**
 * The moments of those sessions whose version is another than the one known.
 *
 * A row costs five index lookups (session, payment, its deposits twice, payments that were left), and one more for the refunds of
 * a payment that is not paid yet though coins came. So ten thousand open pages are one query of some tens of milliseconds; almost
 * always no row comes back. Measured in bench/live-pages.ts.
 *
 * @param known - Session ids with the version that is known of each, or null.
 */
export const changedMoments = (
  db: Queryable,
  known: readonly { readonly id: SessionId; readonly version: string | null }[],
): Promise<CheckoutMoment[]> =>
  allRows(
    db,
    `with known as (select * from unnest($1::uuid[], $2::text[]) as u (id, version)),
     moments as (
       select s.id, known.version as known_version, s.payment_id, p.status,
         s.cancelled_at is not null as is_cancelled, s.expires_at <= now() as is_over,
         coalesce(p.expires_at <= now(), false) as is_window_over,
         least(p.due_atoms - p.tolerated_atoms, p.accepted_net_atoms + p.accepted_fee_atoms) as enough,
         coalesce(d.received, 0) as received, coalesce(d.late, 0) as late, d.transactions,
         coalesce(d.booked, false) and not exists (select from unresolved_funds u where u.account_id = p.account_id
           and u.payment_id = p.id and u.asset = p.asset and u.atoms > 0) as is_refunded,
         coalesce(r.atoms, 0) as refunded, e.atoms as earlier,
         w.withdrawn is not null as is_withdrawn, s.sent_tx is not null and s.sent_tx <> all(w.withdrawn) is not false as is_sent,
         least(coalesce(d.confirmations, 0), p.required_confirmations)::integer as confirmations,
         p.required_confirmations as required,
         p.chain is null or p.chain = any($4::text[]) or coalesce((select c.halted_reason is null
           and c.polled_at > now() - $3::integer * interval '1 millisecond' from chains c where c.chain = p.chain), false) as is_in_sight
       from known join checkout_sessions s on s.id = known.id
       left join payments p on p.account_id = s.account_id and p.id = s.payment_id
       left join lateral (
         select sum(d.amount_atoms) filter (where ${inTimeSql('d', 'p')}) as received,
           sum(d.amount_atoms) filter (where not ${inTimeSql('d', 'p')}) as late,
           count(*) as transactions, bool_and(d.booked) as booked,
           min(case when d.block_height is null then 0
             else greatest(0, (select tip_height from chains c where c.chain = d.chain) - d.block_height + 1) end)
             filter (where p.status not in ('completed', 'overpaid') or d.status = 'confirmed') as confirmations
         from deposits d
         where d.account_id = p.account_id and d.payment_id = p.id and ${paysForSql('d', 'p')}
       ) d on true
       left join lateral (select ${REFUNDED_ATOMS} as atoms from withdrawals w
         where p.status in ('detected', 'underpaid') and w.account_id = p.account_id and w.payment_id = p.id
           and w.asset = p.asset) r on true
       left join lateral (select sum(d.amount_atoms) as atoms from ${EARLIER}) e on true
       left join lateral (
         select array_agg(coalesce(d.tx_hash, '')) as withdrawn from deposits d
         where p.status in ('pending', 'expired') and d.account_id = p.account_id and d.payment_id = p.id
           and d.asset = p.asset and d.status = 'replaced'
       ) w on true
     ),
     versioned as (
       select *, left(md5(concat_ws('|', payment_id, status, is_cancelled, is_over, is_window_over, received, late,
         transactions, is_in_sight, is_refunded, refunded, earlier, is_withdrawn, is_sent)), 16) || '-' || confirmations as version from moments
     )
     select id as "sessionId", version, status as "paymentStatus", is_cancelled as "isSessionCancelled",
       is_over as "isSessionOver", is_window_over as "isWindowOver", enough as "enoughAtoms",
       received as "receivedAtoms", late as "lateAtoms", refunded as "refundedAtoms", is_refunded as "isRefunded",
       earlier is not null as "hasEarlierFunds", is_withdrawn as "isWithdrawn", is_sent as "isSent", coalesce(confirmations, 0) as confirmations,
       coalesce(required, 0) as "requiredConfirmations", is_in_sight as "isChainInSight"
     from versioned where version is distinct from known_version`,
    [...arraysOf(known, 'id', 'version'), POLL_AGE_MS_MAX, CHAINS.filter(isSimulated)],
  )

/** Coins that came for a price the buyer had left: he took another coin, or a new price, while they were on their way. */
export interface EarlierFunds {
  readonly paymentId: PaymentId
  readonly asset: Asset
  readonly atoms: bigint
}

/** By payment, the newest first. */
export const readEarlierFunds = (db: Queryable, id: SessionId): Promise<EarlierFunds[]> =>
  allRows(
    db,
    `select e.* from checkout_sessions s cross join lateral (
       select o.id as "paymentId", o.asset, sum(d.amount_atoms) as atoms from ${EARLIER}
       group by o.id, o.asset, o.created_at order by o.created_at desc
     ) e where s.id = $1`,
    [id],
  )

/** The tips of all chains in one text: another one after every block. */
export async function readTips(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ tips: string | null }>(
    `select string_agg(chain || ' ' || tip_hash, ',' order by chain) as tips from chains`,
  )
  return rows[0]?.tips ?? ''
}
