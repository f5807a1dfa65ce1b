/**
 * Keeps count of the payments of long lists: by day, and by where they stand when sorted (docs/decisions/0081-ranks.md). A turn
 * adds what was made meanwhile and moves what changed, as one snapshot has both; list-places.sql.ts reads it.
 */
import type { AccountId } from '../../core/ids.ts'
import type { Database, Queryable, Tx } from '../../db/database.ts'
import { type Bind, binding } from '../../db/list-filters.ts'
import { allRows, countRows, firstRow, oneRow } from '../../db/rows.ts'
import { countGrids, GRID_RUNGS_MAX } from './payment-grid.sql.ts'
import {
  DIFFERENCES,
  FIRST_RUNG,
  keyOf,
  keyOfRung,
  RUNG_SORTS,
  type Rung,
  type RungSort,
  rungAt,
} from './payment-rungs.sql.ts'

/** Shorter lists are walked through in a few milliseconds, from whichever end is nearer. */
export const RANKED_FROM = 20_000
/** A rung that comes to stand for twice as many is split. */
export const RUNG = 16_384
/** So old is what is counted: an hour older than what notes its changes (`note_payment_change`). */
const COUNTED_AFTER = `interval '2 hours'`
/** An account is counted so often. */
const COUNTED_EVERY = `interval '1 hour'`
/** So many payments are counted in a transaction, for the first time of a long list. */
const COUNTED_AT_ONCE = 100_000

/** An account with many payments whose count is behind, the one that waits longest, but for these. Null when none is. */
export const findAccountToRank = async (
  db: Queryable,
  passedOver: readonly AccountId[] = [],
): Promise<AccountId | null> =>
  (
    await firstRow<{ id: AccountId }>(
      db,
      `select a.account_id as id from (
         select account_id from payment_counts group by account_id having sum(payments) >= $1
         union select account_id from payment_ranks
       ) a
       left join payment_ranks r using (account_id)
       cross join lateral (select coalesce(r.made_before, '-infinity') as made_before) counted
       where a.account_id <> all($2::uuid[]) and (
         exists (select from payment_grids g where g.account_id = a.account_id and g.is_due)
         or counted.made_before < now() - ${COUNTED_AFTER} - ${COUNTED_EVERY}
         and (exists (select from payments p where p.account_id = a.account_id and p.created_at >= counted.made_before
                and p.created_at < now() - ${COUNTED_AFTER})
           or exists (select from payment_changes c where c.account_id = a.account_id
                and c.created_at < now() - ${COUNTED_AFTER})))
       order by counted.made_before limit 1`,
      [RANKED_FROM, passedOver],
    )
  )?.id ?? null

/** Smaller ones are for tests. */
interface Sizes {
  readonly countedAtOnce?: number
  readonly rung?: number
  readonly rungsMax?: number
}

/**
 * Counts what the account made since it was counted last, until two hours ago, and what changed of what was counted.
 *
 * @returns Whether there is more to count at once; null where somebody else counts it just now.
 */
export async function rankPayments(
  db: Database,
  accountId: AccountId,
  { countedAtOnce = COUNTED_AT_ONCE, rung = RUNG, rungsMax = GRID_RUNGS_MAX }: Sizes = {},
): Promise<boolean | null> {
  // By itself: another worker who does the same waits for no turn.
  await db.query('insert into payment_ranks (account_id) values ($1) on conflict do nothing', [accountId])
  return db.transaction(async (tx) => {
    await tx.query('set transaction isolation level repeatable read')
    const mine = await firstRow<{ since: string }>(
      tx,
      `select made_before::text as since from payment_ranks where account_id = $1 for update skip locked`,
      [accountId],
    )
    if (!mine) return null
    const { since } = mine
    const { until, isMore } = await oneRow<{ until: string; isMore: boolean }>(
      tx,
      `select until::text, until < most as "isMore"
       from (select date_trunc('minute', now()) - ${COUNTED_AFTER} as most) m cross join lateral (
         select greatest($2::timestamptz, least(most, (select created_at from payments p
           where p.account_id = $1 and p.created_at > $2::timestamptz order by p.created_at offset $3 limit 1))) as until) u`,
      [accountId, since, countedAtOnce],
    )
    const span = [accountId, since, until]
    await tx.query(countByDay, span)
    for (const sort of ['total', 'id'] as const) {
      await tx.query(countByRung(sort), span)
      await splitRungs(tx, sort, accountId, until, rung)
    }
    const isGridDue = await countGrids(tx, accountId, {
      until,
      isAll: !isMore,
      countedAtOnce,
      rung,
      rungsMax,
    })
    await tx.query('delete from payment_changes where account_id = $1 and created_at < $2', [
      accountId,
      until,
    ])
    await tx.query('update payment_ranks set made_before = $2 where account_id = $1', [accountId, until])
    return isMore || isGridDue
  })
}

/** Begins to count anew: for counts that do not fit what is there, as after rows were written by hand. */
export const forgetRanks = (db: Database, accountId: AccountId): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.query(`update payment_ranks set made_before = '-infinity' where account_id = $1`, [accountId])
    await tx.query('delete from daily_payments where account_id = $1', [accountId])
    await tx.query('delete from payment_rungs where account_id = $1', [accountId])
    await tx.query('delete from payment_grid_counts where account_id = $1', [accountId])
    await tx.query('delete from payment_grids where account_id = $1', [accountId])
  })

/**
 * What changed of payments whose account is not counted. A count that is under way and has not seen the change would have to take
 * two hours. Steps from account to account: those of accounts that are counted may be millions. @returns How many; fewer than
 * `limit` means all of them.
 */
export const forgetUncountedChanges = (db: Queryable, limit: number): Promise<number> =>
  countRows(
    db,
    `with recursive changed as (
       (select account_id from payment_changes order by account_id limit 1)
       union all
       select next.account_id from changed cross join lateral (
         select c.account_id from payment_changes c where c.account_id > changed.account_id
         order by c.account_id limit 1) next
     )
     delete from payment_changes where ctid = any(array(
       select c.ctid from changed cross join lateral (
         select ctid from payment_changes where account_id = changed.account_id and noted_at < now() - ${COUNTED_AFTER}
         order by created_at limit $1::integer) c
       where not exists (select from payment_ranks r where r.account_id = changed.account_id)
       limit $1::integer))`,
    [limit],
  )

const countByDay = `
  merge into daily_payments counted
  using (select (p.created_at at time zone 'UTC')::date as day, p.asset, p.status, sum(p.n) as n from ${DIFFERENCES}
    group by 1, 2, 3 having sum(p.n) <> 0) more
  on counted.account_id = $1 and counted.day = more.day and counted.asset = more.asset and counted.status = more.status
  when matched then update set payments = counted.payments + more.n
  when not matched then insert (account_id, day, asset, status, payments)
    values ($1, more.day, more.asset, more.status, more.n)`

/** Rungs and payments are sorted together: a payment stands on the last rung before it. */
const countByRung = (sort: RungSort): string => {
  const key = RUNG_SORTS[sort].join(', ')
  return `
  merge into payment_rungs counted
  using (
    with rungs as materialized (
      select row_number() over (order by net_minor, created_at, id) as rung, r.* from (
        select net_minor, created_at, id from payment_rungs where account_id = $1 and sort = '${sort}'
        union select ${FIRST_RUNG}) r (net_minor, created_at, id)
    ), placed as (
      select max(rung) over (order by ${key}, rung rows unbounded preceding) as rung, asset, status, n from (
        select rung, ${key}, null as asset, null as status, 0::bigint as n from rungs
        union all select null, ${key}, asset, status, n from ${DIFFERENCES}) both_sorted
    )
    select net_minor, created_at, id, asset, status, sum(n) as n from placed join rungs using (rung)
    where n <> 0 group by 1, 2, 3, 4, 5 having sum(n) <> 0) more
  on counted.account_id = $1 and counted.sort = '${sort}' and counted.net_minor = more.net_minor
    and counted.created_at = more.created_at and counted.id = more.id
    and counted.asset = more.asset and counted.status = more.status
  when matched then update set payments = counted.payments + more.n
  when not matched then insert (account_id, sort, net_minor, created_at, id, asset, status, payments)
    values ($1, '${sort}', more.net_minor, more.created_at, more.id, more.asset, more.status, more.n)`
}

/** Those that stand for too many are counted anew, in even parts, from the rung up to the next. */
async function splitRungs(
  tx: Tx,
  sort: RungSort,
  accountId: AccountId,
  until: string,
  size: number,
): Promise<void> {
  const large = await allRows<Rung & { parts: bigint; next: Rung | null }>(
    tx,
    `select net_minor, created_at::text, id, payments / $3::bigint as parts, next from (
       select net_minor, created_at, id, sum(payments)::bigint as payments,
         lead(jsonb_build_object('net_minor', net_minor::text, 'created_at', created_at, 'id', id))
           over (order by net_minor, created_at, id) as next
       from payment_rungs where account_id = $1 and sort = $2 group by net_minor, created_at, id) rungs
     where payments >= 2 * $3::bigint`,
    [accountId, sort, size],
  )
  for (const { parts, next, ...rung } of large) {
    await tx.query(
      `delete from payment_rungs where account_id = $1 and sort = $2
         and (net_minor, created_at, id) = ($3::bigint, $4::timestamptz, $5::uuid)`,
      [accountId, sort, rung.net_minor, rung.created_at, rung.id],
    )
    const values: unknown[] = []
    await tx.query(split(sort, { accountId, until, parts, rung, next }, binding(values)), values)
  }
}

interface Split {
  readonly accountId: AccountId
  readonly until: string
  readonly parts: bigint
  readonly rung: Rung
  readonly next: Rung | null
}

/** The order is read off the index. The first part keeps the rung. */
function split(sort: RungSort, { accountId, until, parts, rung, next }: Split, bind: Bind): string {
  const account = bind(accountId, 'uuid')
  const order = RUNG_SORTS[sort].map((column) => `p.${column}`).join(', ')
  const first = `${bind(rung.net_minor, 'bigint')}, ${bind(rung.created_at, 'timestamptz')}, ${bind(rung.id, 'uuid')}`
  return `
    with found as (
      select p.net_minor, p.created_at, p.id, p.asset, p.status, row_number() over (order by ${order}) - 1 as place
      from payments p where p.account_id = ${account} and p.created_at < ${bind(until, 'timestamptz')}
        and ${keyOf(sort, 'p')} >= ${keyOfRung(sort, rung, bind)}
        ${next ? `and ${keyOf(sort, 'p')} < ${keyOfRung(sort, next, bind)}` : ''}
    ), parts as (
      select found.*, place * ${bind(parts, 'bigint')} / (select count(*) from found) as part from found
    ), heads as (
      select distinct on (part) part, net_minor, created_at, id from parts order by part, place
    )
    insert into payment_rungs (account_id, sort, net_minor, created_at, id, asset, status, payments)
    select ${account}, '${sort}', rung.net_minor, rung.created_at, rung.id, p.asset, p.status, count(*)
    from parts p join heads using (part) cross join lateral (
      select * from (values (${first})) first (net_minor, created_at, id) where part = 0
      union all select ${rungAt(sort, 'heads')} where part > 0) rung
    group by 1, 2, 3, 4, 5, 6, 7`
}
