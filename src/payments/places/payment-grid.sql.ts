/**
 * Counts an account's payments by time and amount at once (docs/decisions/0081-ranks.md): at each mark of time, how many of what
 * was made before stand up to each rung of amounts, by coin and state. The number in any part of a list that both bound is then
 * what its four corners say; list-part.sql.ts says how.
 */
import type { AccountId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { allRows, firstRow, oneRow } from '../../db/rows.ts'
import { DIFFERENCES, FIRST_RUNG } from './payment-rungs.sql.ts'

/** The grid stays as it is until one of its rungs stands for more than so many of the account's when they are split. */
const RUNG_MAX = 3
/** A grid has no more. Of an account with more, every second counts or every third, and slices are as much longer. */
export const GRID_RUNGS_MAX = 1_024

export interface Span {
  /** Before this, payments are counted by day and rung. */
  readonly until: string
  /** Whether that is all of them: else no grid is begun. */
  readonly isAll: boolean
  readonly countedAtOnce: number
  /** For so many payments a rung of the account stands, or up to twice as many. */
  readonly rung: number
  readonly rungsMax: number
}

/**
 * Adds what changed of what is counted, and marks that are due. Whoever calls it holds the account's ranks, and forgets the changes.
 *
 * @returns Whether more marks are due.
 */
export async function countGrid(tx: Tx, accountId: AccountId, span: Span): Promise<boolean> {
  if (span.isAll) await beginGrid(tx, accountId, span)
  const grid = await firstRow<{ rungs: number; marks: number; since: string }>(
    tx,
    `select rungs, cardinality(marks) as marks, coalesce(marks[cardinality(marks)], '-infinity')::text as since
     from payment_grids where account_id = $1`,
    [accountId],
  )
  if (!grid) return false
  const slice = sliceOf(grid.rungs, span)
  const most = Math.max(1, Math.floor(span.countedAtOnce / slice))
  const due = await allRows<{ mark: string }>(tx, DUE, [accountId, grid.since, span.until, slice, most])
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

const thinnedBy = (rungs: number, { rungsMax }: Span): number => Math.ceil(rungs / rungsMax)

/** So many payments lie between two marks, or a few more of one moment. */
const sliceOf = (rungs: number, span: Span): number => Math.ceil(span.rung / 2) * thinnedBy(rungs, span)

/** Where there is none yet, or one of its rungs has become too large and would be split: what is made later may all be of one amount. */
async function beginGrid(tx: Tx, accountId: AccountId, span: Span): Promise<void> {
  const { rungs, had, largest } = await oneRow<{ rungs: number; had: number | null; largest: bigint }>(
    tx,
    `select (select count(*)::integer from (
         select distinct net_minor, created_at, id from payment_rungs where account_id = $1 and sort = 'total') r) as rungs,
       (select rungs from payment_grids where account_id = $1) as had,
       (select coalesce(max(payments), 0)::bigint from (
         select sum(n - coalesce(upto[rung - 1], 0)) as payments
         from payment_grids g join payment_grid_counts c on c.account_id = g.account_id and mark = cardinality(marks)
         cross join lateral unnest(upto) with ordinality each (n, rung)
         where g.account_id = $1 group by rung) largest) as largest`,
    [accountId],
  )
  if (had !== null && (rungs <= had || largest < RUNG_MAX * span.rung * thinnedBy(had, span))) return
  await tx.query('delete from payment_grid_counts where account_id = $1', [accountId])
  await tx.query(BEGIN, [accountId, rungs, thinnedBy(rungs, span), span.until, 2 * sliceOf(rungs, span)])
}

/** By the rungs as they are, but for those of the last payments: each is older than the last mark will be. */
const BEGIN = `
  with rungs as (
    select *, row_number() over (order by net_minor, created_at, id) - 1 as n from (
      select distinct net_minor, created_at, id from payment_rungs where account_id = $1 and sort = 'total'
        and created_at < (select p.created_at from payments p where p.account_id = $1 and p.created_at < $4::timestamptz
          order by p.created_at desc offset $5::bigint limit 1)
      union select ${FIRST_RUNG}) older
  )
  insert into payment_grids (account_id, rungs, net_minors, created_ats, ids)
  select $1, $2, array_agg(net_minor order by n), array_agg(created_at order by n), array_agg(id order by n)
  from rungs where n % $3::integer = 0
  on conflict (account_id) do update set rungs = excluded.rungs, marks = '{}', is_whole = false,
    net_minors = excluded.net_minors, created_ats = excluded.created_ats, ids = excluded.ids`

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
