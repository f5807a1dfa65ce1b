/** Payments by their announcements: each has one from the moment it is there. */
import type { PaymentId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

/** Payments made since an instant, the oldest first; by the index of events' age. */
export async function listPaymentsSince(
  db: Queryable,
  since: Date,
): Promise<{ readonly id: PaymentId; readonly createdAt: Date }[]> {
  const { rows } = await db.query<{ id: PaymentId; createdAt: Date }>(
    `select split_part(cause, ':', 2)::uuid as id, created_at as "createdAt" from events
     where created_at >= $1 and type = 'payment.created' order by created_at limit 100000`,
    [since],
  )
  return rows
}

/** Those of the ids that no payment has, in their order. */
export async function findMissingPayments(db: Queryable, ids: readonly PaymentId[]): Promise<PaymentId[]> {
  const { rows } = await db.query<{ id: PaymentId }>(
    `select told.id from unnest($1::uuid[]) with ordinality as told (id, number)
     where not exists (select from payments p where p.id = told.id) order by told.number`,
    [ids],
  )
  return rows.map((row) => row.id)
}
