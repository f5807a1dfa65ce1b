/** Payments by their announcements: each has one from the moment it is there. */
import type { PaymentId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { oneRow } from '../../db/rows.ts'
import { isSampleCause } from '../../events/sample-event.sql.ts'

/** Of the events that were read: how many, when the last was made, and the payments that they announce. */
interface Announced {
  readonly read: number
  readonly last: Date | null
  readonly ids: readonly PaymentId[]
}

/**
 * Payments made since an instant, by the database's clock, and in some seconds before: transactions that began earlier and
 * committed later are met again. The oldest first; by the index of events' age, which a limit on all events has it read no further.
 *
 * @param since - Null for now; no later than now, whose clock may be that of another server than before.
 * @param againSeconds - How far before it.
 * @param limit - Of the events that are read.
 */
export const readAnnounced = (
  db: Queryable,
  since: Date | null,
  againSeconds: number,
  limit: number,
): Promise<Announced> =>
  oneRow(
    db,
    `select count(*)::integer as read, max(created_at) as last, coalesce(array_agg(split_part(cause, ':', 2)::uuid order by created_at)
       filter (where type = 'payment.created' and not ${isSampleCause('cause')}), '{}') as ids
     from (select created_at, type, cause from events
       where created_at >= least($1::timestamptz, now()) - make_interval(secs => $3)
       order by created_at limit $2) e`,
    [since, limit, againSeconds],
  )

/** Those of the ids that no payment has, in their order. */
export async function findMissingPayments(db: Queryable, ids: readonly PaymentId[]): Promise<PaymentId[]> {
  const { rows } = await db.query<{ id: PaymentId }>(
    `select told.id from unnest($1::uuid[]) with ordinality as told (id, number)
     where not exists (select from payments p where p.id = told.id) order by told.number`,
    [ids],
  )
  return rows.map((row) => row.id)
}
