/**
 * Counts an account's payments by time and amount at once (docs/decisions/0081-ranks.md): at each mark of time, how many of what
 * was made before stand up to each rung of amounts, by coin and state. The number in any part of a list that both bound is then
 * what its four corners say; list-part.sql.ts says how.
 */
import type { AccountId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { allRows, firstRow } from '../../db/rows.ts'
import { DIFFERENCES, FIRST_RUNG } from './payment-rungs.sql.ts'

/** Rungs stay until there would be half as many again: so much larger may a rung become. */
const RUNGS_ANEW = 1.5

interface Span {
  /** Before this, payments are counted by day and rung. */
  readonly until: string
  /** Whether that is all of them: else no grid is begun. */
  readonly isAll: boolean
  readonly countedAtOnce: number
  /** So many payments lie between two marks, or a few more of one moment. */
  readonly slice: number
}

/**
 * Adds what changed of what is counted, and marks that are due. Whoever calls it holds the account's ranks, and forgets the changes.
 *
 * @returns Whether more marks are due.
 */
export async function countGrid(tx: Tx, accountId: AccountId, span: Span): Promise<boolean> {
  if (span.isAll) await tx.query(BEGIN, [accountId, RUNGS_ANEW, span.until, 2 * span.slice])
  const grid = await firstRow<{ marks: number; since: string }>(
    tx,
    `select cardinality(marks) as marks, coalesce(marks[cardinality(marks)], '-infinity')::text as since
     from payment_grids where account_id = $1`,
    [accountId],
  )
  if (!grid) return false
  const most = Math.max(1, Math.floor(span.countedAtOnce / span.slice))
  const due = await allRows<{ mark: string }>(tx, DUE, [accountId, grid.since, span.until, span.slice, most])
  const isMore = due.length === most
  await tx.query(
    'update payment_grids set marks = marks || $2::timestamptz[], is_whole = $3 where account_id = $1',
    [accountId, due.map(({ mark }) => mark), !isMore],
  )
  // What a mark before counted is counted by each after it.
  await tx.query(
    `insert into payment_grid_counts (account_id, mark, asset, status, upto)
     select account_id, later, asset, status, upto from payment_grid_counts, generate_series(mark + 1, mark + $3::integer) later
     where account_id = $1 and mark = $2`,
    [accountId, grid.marks, due.length],
  )
  await tx.query(COUNT, [accountId, grid.since, due.at(-1)?.mark ?? grid.since])
  return isMore
}

/**
 * Where there is none yet, or its rungs have become too large, one is begun by the rungs as they are, but for those of the last
 * payments: each is older than the last mark will be.
 */
const BEGIN = `
  with rungs as (
    select distinct net_minor, created_at, id from payment_rungs where account_id = $1 and sort = 'total'
      and created_at < (select p.created_at from payments p where p.account_id = $1 and p.created_at < $3::timestamptz
        order by p.created_at desc offset $4::bigint limit 1)
    union select ${FIRST_RUNG}
  ), begun as (
    select array_agg(net_minor order by net_minor, created_at, id) as net_minors,
      array_agg(created_at order by net_minor, created_at, id) as created_ats,
      array_agg(id order by net_minor, created_at, id) as ids from rungs
  ), forgotten as (
    delete from payment_grid_counts counted using payment_grids g, begun
    where counted.account_id = $1 and g.account_id = $1 and cardinality(begun.ids) >= $2::float8 * cardinality(g.ids)
  )
  insert into payment_grids as g (account_id, net_minors, created_ats, ids) select $1, net_minors, created_ats, ids from begun
  on conflict (account_id) do update set marks = '{}', net_minors = excluded.net_minors, created_ats = excluded.created_ats,
    ids = excluded.ids, is_whole = false
  where cardinality(excluded.ids) >= $2::float8 * cardinality(g.ids)`

/** The marks after `$2` and before `$3`, one behind every so many payments. */
const DUE = `
  with recursive due as (
    select $2::timestamptz as mark, 0 as n
    union all
    select (select p.created_at from payments p
      where p.account_id = $1 and p.created_at > due.mark and p.created_at < $3::timestamptz
      order by p.created_at offset $4::bigint limit 1), n + 1
    from due where mark is not null and n < $5::integer
  )
  select mark::text from due where n > 0 and mark is not null order by n`

/**
 * A difference counts at each mark behind its payment, and on each rung from its own on: what is summed up along both. Rungs and
 * payments are sorted together, as where rungs are counted.
 */
const COUNT = `
  merge into payment_grid_counts counted
  using (
    with grid as materialized (
      select array_agg(mark order by n) as marks, count(*)::integer as size
      from payment_grids, unnest(marks) with ordinality each (mark, n) where account_id = $1
    ), rungs as materialized (
      select n::integer as rung, net_minor, created_at, id
      from payment_grids, unnest(net_minors, created_ats, ids) with ordinality each (net_minor, created_at, id, n) where account_id = $1
    ), placed as (
      select max(rung) over (order by net_minor, created_at, id, rung rows unbounded preceding) as rung, made, asset, status, n from (
        select rung, net_minor, created_at, id, null::timestamptz as made, null as asset, null as status, 0::bigint as n from rungs
        union all select null, net_minor, created_at, id, created_at, asset, status, n from ${DIFFERENCES}) both_sorted
    ), more as materialized (
      select width_bucket(made, marks) + 1 as mark, rung, asset, status, sum(n) as n from placed cross join grid
      where n <> 0 group by 1, 2, 3, 4 having sum(n) <> 0
    ), cells as (
      -- No join: PostgreSQL has no idea of how many they are.
      select mark, asset, status, rung, sum(sum(n)) over (partition by asset, status, mark order by rung rows unbounded preceding) as n
      from (
        select * from more
        union all select marks.mark, rung, asset, status, 0
        from (select asset, status, min(mark) as first from more group by 1, 2) begin
        cross join grid cross join lateral generate_series(begin.first, size) marks (mark) cross join rungs) all_cells
      group by mark, asset, status, rung
    ), sums as (
      select mark, asset, status, rung, sum(n) over (partition by asset, status, rung order by mark rows unbounded preceding) as n
      from cells
    )
    select mark, asset, status, array_agg(n order by rung)::integer[] as upto from sums group by 1, 2, 3) more
  on counted.account_id = $1 and counted.mark = more.mark and counted.asset = more.asset and counted.status = more.status
  when matched then update set upto = (
    select array_agg(was + added order by rung) from unnest(counted.upto, more.upto) with ordinality each (was, added, rung))
  when not matched then insert (account_id, mark, asset, status, upto)
    values ($1, more.mark, more.asset, more.status, more.upto)`
