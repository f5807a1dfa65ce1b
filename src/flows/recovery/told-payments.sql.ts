/** Payments by their announcements: each has one from the moment it is there. */
import type { PaymentId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { allRows } from '../../db/rows.ts'
import { isSampleCause } from '../../events/sample-event.sql.ts'

/** As many are read at once. */
export const PAYMENTS_READ = 100_000

/**
 * Payments made since an instant, by the database's clock, and in some seconds before: transactions that began earlier and
 * committed later are met again. The oldest first; by the index of events' age.
 *
 * @param since - Null for now.
 * @param againSeconds - How far before it.
 */
export const listPaymentsSince = (
  db: Queryable,
  since: Date | null,
  againSeconds: number,
): Promise<{ readonly id: PaymentId; readonly createdAt: Date }[]> =>
  allRows(
    db,
    `select split_part(cause, ':', 2)::uuid as id, created_at as "createdAt" from events
     where created_at >= coalesce($1::timestamptz, now()) - make_interval(secs => $3) and type = 'payment.created' and not ${isSampleCause('cause')}
     order by created_at limit $2`,
    [since, PAYMENTS_READ, againSeconds],
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
