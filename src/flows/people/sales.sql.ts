/** What a merchant sold, as the overview tells it: settled payments at their locked rates, by the days of his zone. */
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

export interface Sold {
  /** Net, in hundredths of the settlement currency. */
  readonly minor: bigint
  readonly payments: number
}

export interface Sales {
  readonly today: Sold
  /** Up to the same time of day. */
  readonly yesterday: Sold
  readonly week: Sold
  readonly weekBefore: Sold
  readonly month: Sold
  readonly monthBefore: Sold
  /** 30 days, oldest first, today last. */
  readonly days: readonly { readonly day: string; readonly minor: bigint }[]
  /** Payments created in 30 days. */
  readonly created: number
}

interface DayRow {
  readonly day: string
  readonly age: number
  readonly minor: bigint
  readonly payments: number
}

/** What of an index that holds all it needs lies between two instants. */
const SOLD = `select coalesce(sum(p.spent_minor), 0)::bigint as minor, count(*)::int as payments
  from payments p where p.account_id = $1 and p.spent_minor is not null`

/**
 * A range of the index for each of 30 days: a day's bounds are worked out once, where grouping by the day would work out the zone
 * of every payment.
 *
 * @param youngest - Its age in days; today is 0.
 */
const readDays = (db: Queryable, accountId: AccountId, zone: string, youngest: number) =>
  db.query<DayRow>(
    `with days as (
       select (now() at time zone $2)::date - age as day, age
       from generate_series($3::integer, $3::integer + 29) as age
     )
     select to_char(day, 'YYYY-MM-DD') as day, age, sold.minor, sold.payments
     from days cross join lateral (
       ${SOLD} and p.completed_at >= day::timestamp at time zone $2
         and p.completed_at < (day + 1)::timestamp at time zone $2) sold
     order by age desc`,
    [accountId, zone, youngest],
  )

/** Yesterday, up to this time of day. */
const readYesterdayByNow = (db: Queryable, accountId: AccountId, zone: string) =>
  db.query<Sold>(
    `${SOLD} and p.completed_at >= ((now() at time zone $2)::date - 1)::timestamp at time zone $2
       and p.completed_at <= ((now() at time zone $2) - interval '1 day') at time zone $2`,
    [accountId, zone],
  )

/** By the counts of UTC days where they are kept; of the first day and of what is newer than them, each payment. */
const countCreated = (db: Queryable, accountId: AccountId) =>
  db.query<{ created: number }>(
    `with bounds as (
       select since, (since at time zone 'UTC')::date + 1 as first_day,
         greatest((since at time zone 'UTC')::date + 1,
           (select (made_before at time zone 'UTC')::date from payment_ranks
            where account_id = $1 and made_before > '-infinity')) as open_day
       from (select now() - interval '30 days' as since) s
     )
     select ((select coalesce(sum(d.payments), 0) from daily_payments d where d.account_id = $1
         and d.day >= first_day and d.day < open_day)
       + (select count(*) from payments p where p.account_id = $1 and p.created_at >= since
            and p.created_at < first_day::timestamp at time zone 'UTC')
       + (select count(*) from payments p where p.account_id = $1
            and p.created_at >= open_day::timestamp at time zone 'UTC'))::int as created
     from bounds`,
    [accountId],
  )

export async function readSales(db: Queryable, accountId: AccountId, zone: string): Promise<Sales> {
  // A busy merchant sold half a million times in 60 days: two connections add that up in half the time.
  const [{ rows: month }, { rows: before }, { rows: byNow }, { rows: created }] = await Promise.all([
    readDays(db, accountId, zone, 0),
    readDays(db, accountId, zone, 30),
    readYesterdayByNow(db, accountId, zone),
    countCreated(db, accountId),
  ])
  const rows = [...before, ...month]
  const sum = (from: number, to: number): Sold =>
    rows
      .filter(({ age }) => age >= from && age < to)
      .reduce((all, row) => ({ minor: all.minor + row.minor, payments: all.payments + row.payments }), {
        minor: 0n,
        payments: 0,
      })
  return {
    today: sum(0, 1),
    yesterday: byNow[0] ?? { minor: 0n, payments: 0 },
    week: sum(0, 7),
    weekBefore: sum(7, 14),
    month: sum(0, 30),
    monthBefore: sum(30, 60),
    days: month.map(({ day, minor }) => ({ day, minor })),
    created: created[0]?.created ?? 0,
  }
}
