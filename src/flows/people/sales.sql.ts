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
  /** Of them, those before this time of day. */
  readonly minor_by_now: bigint
  readonly payments_by_now: number
}

/** One pass over 60 days of an index that holds all it needs. */
export async function readSales(db: Queryable, accountId: AccountId, zone: string): Promise<Sales> {
  const { rows } = await db.query<DayRow>(
    `with clock as (select now() at time zone $2 as local), days as (
       select (clock.local::date - age) as day, age, clock.local from clock, generate_series(0, 59) as age
     ), sold as (
       select (p.completed_at at time zone $2)::date as day, sum(p.spent_minor)::bigint as minor, count(*)::int as payments,
         coalesce(sum(p.spent_minor) filter (where (p.completed_at at time zone $2)::time <= clock.local::time), 0)::bigint
           as minor_by_now,
         (count(*) filter (where (p.completed_at at time zone $2)::time <= clock.local::time))::int as payments_by_now
       from payments p, clock
       where p.account_id = $1 and p.spent_minor is not null
         and p.completed_at >= ((clock.local::date - 59)::timestamp at time zone $2)
       group by 1
     )
     select to_char(days.day, 'YYYY-MM-DD') as day, days.age, coalesce(sold.minor, 0)::bigint as minor,
       coalesce(sold.payments, 0) as payments, coalesce(sold.minor_by_now, 0)::bigint as minor_by_now,
       coalesce(sold.payments_by_now, 0) as payments_by_now
     from days left join sold on sold.day = days.day order by days.age desc`,
    [accountId, zone],
  )
  const { rows: created } = await db.query<{ created: number }>(
    `select count(*)::int as created from payments where account_id = $1 and created_at >= now() - interval '30 days'`,
    [accountId],
  )
  const sum = (from: number, to: number): Sold =>
    rows
      .filter(({ age }) => age >= from && age < to)
      .reduce((all, row) => ({ minor: all.minor + row.minor, payments: all.payments + row.payments }), {
        minor: 0n,
        payments: 0,
      })
  const before = rows.find(({ age }) => age === 1)
  return {
    today: sum(0, 1),
    yesterday: { minor: before?.minor_by_now ?? 0n, payments: before?.payments_by_now ?? 0 },
    week: sum(0, 7),
    weekBefore: sum(7, 14),
    month: sum(0, 30),
    monthBefore: sum(30, 60),
    days: rows.filter(({ age }) => age < 30).map(({ day, minor }) => ({ day, minor })),
    created: created[0]?.created ?? 0,
  }
}
