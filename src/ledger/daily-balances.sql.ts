/** What merchants had when each UTC day ended. Written once a day, read by every balance. */
import type { Fiat } from '../core/assets.ts'
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'

export interface DailyBalance {
  readonly accountId: AccountId
  readonly currency: Fiat
  readonly availableMinor: bigint
  readonly pendingMinor: bigint
}

/** Keeps the closes of a day; one that is there already stays. */
export async function insertDailyBalances(
  db: Queryable,
  day: string,
  balances: readonly DailyBalance[],
): Promise<void> {
  if (balances.length === 0) return
  await db.query(
    `insert into daily_balances (account_id, currency, day, available_minor, pending_minor)
     select g.account_id, g.currency, $1::date, g.available, g.pending
     from unnest($2::uuid[], $3::text[], $4::bigint[], $5::bigint[]) as g (account_id, currency, available, pending)
     on conflict do nothing`,
    [day, ...arraysOf(balances, 'accountId', 'currency', 'availableMinor', 'pendingMinor')],
  )
}

/** Says that every account's balance of the day is kept. */
export async function markDayClosed(db: Queryable, day: string): Promise<void> {
  await db.query('insert into closed_days (day) values ($1) on conflict do nothing', [day])
}

/** What one account had at the end of a day. */
export interface Close {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly availableMinor: bigint
  readonly pendingMinor: bigint
}

/** An account's closes from a day on; a day without one had nothing. */
export const listCloses = (
  db: Queryable,
  accountId: AccountId,
  currency: Fiat,
  from: string,
): Promise<Close[]> =>
  allRows(
    db,
    `select to_char(day, 'YYYY-MM-DD') as day, available_minor as "availableMinor", pending_minor as "pendingMinor"
     from daily_balances where account_id = $1 and currency = $2 and day >= $3::date`,
    [accountId, currency, from],
  )

/** The latest day whose closes are kept; null before the first. */
export async function findLastClosedDay(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ day: string }>(
    `select to_char(c.day, 'YYYY-MM-DD') as day from closed_days c order by c.day desc limit 1`,
  )
  return rows[0]?.day ?? null
}

/**
 * Days that ended at least a minute ago and are not closed, oldest first; from the first account on, at most the 31
 * that a balance shows. A day is left out while a transaction that began before its end may still write to it: its COMMIT can
 * wait for a standby or a disk, and who read the balances meanwhile would not see it.
 */
export async function listDaysToClose(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ day: string }>(
    `select to_char(d.day, 'YYYY-MM-DD') as day
     from generate_series(
       greatest(
         ((now() - interval '1 minute') at time zone 'utc')::date - 31,
         (select min(created_at) at time zone 'utc' from accounts)::date
       )::timestamp,
       (((now() - interval '1 minute') at time zone 'utc')::date - 1)::timestamp,
       interval '1 day'
     ) as d (day)
     where exists (select from accounts) and not exists (select from closed_days c where c.day = d.day::date)
       and not exists (select from pg_stat_activity
         where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()
           and xact_start < (d.day + interval '1 day') at time zone 'utc')
     order by 1`,
  )
  return rows.map((row) => row.day)
}
