/** How many payments each day brought every account: kept once, when no payment of the day can come any more. */
import type { Queryable } from '../db/database.ts'

/** Counts the day before the one given, which has just ended; one that was counted stays. One index range an account. */
export async function countPaymentsOfDayBefore(db: Queryable, day: string): Promise<void> {
  await db.query(
    `insert into daily_payments (account_id, day, payments)
     select a.id, $1::date - 1, counted.payments
     from accounts a cross join lateral (
       select count(*) as payments from payments p
       where p.account_id = a.id and p.created_at >= ($1::date - 1)::timestamp at time zone 'UTC'
         and p.created_at < $1::date::timestamp at time zone 'UTC'
     ) counted
     where counted.payments > 0
     on conflict do nothing`,
    [day],
  )
}
