/**
 * Counts an account's payments by time and amount at once (docs/decisions/0081-ranks.md): at each mark of time, how many of what
 * was made before stand up to each rung of amounts, by coin and state. The number in any part of a list that both bound is then
 * what its four corners say; list-part.sql.ts says how.
 */
import type { AccountId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { allRows, firstRow, oneRow } from '../../db/rows.ts'
import { DIFFERENCES, FIRST_RUNG } from './payment-rungs.sql.ts'

/**
 * Another grid is begun when a rung of the last stands for more than so many of the account's, and for such a share of all: what
 * is made later may be of one amount, and to count all of it each time that it fills a rung would take the longer, the more there is.
 */
const RUNG_MAX = 3
const RUNG_SHARE_MAX = 0.01
/** And when the account has so many times the rungs that it had: slices are to grow with what they are of. */
const GROWN_MAX = 2
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

interface Grid {
  readonly generation: number
  /** Of the account, when it was begun. */
  readonly rungs: number
  readonly marks: number
  /** The last mark. */
  readonly since: string
}

/**
 * Adds what changed of what is counted, and marks that are due. Whoever calls it holds the account's ranks, and forgets the changes.
 *
 * @returns Whether more marks are due.
 */
export async function countGrids(tx: Tx, accountId: AccountId, span: Span): Promise<boolean> {
  if (span.isAll) await beginGrid(tx, accountId, span)
  const grids = await allRows<Grid>(
    tx,
    `select generation, rungs, cardinality(marks) as marks, coalesce(marks[cardinality(marks)], '-infinity')::text as since
     from payment_grids where account_id = $1 order by generation`,
    [accountId],
  )
  let isDue = false
  for (const grid of grids) isDue = await countMarks(tx, accountId, grid, span)
  const last = grids.at(-1)
  if (!last || isDue) return isDue
  await tx.query('delete from payment_grid_counts where account_id = $1 and generation < $2', [
    accountId,
    last.generation,
  ])
  await tx.query('delete from payment_grids where account_id = $1 and generation < $2', [
    accountId,
    last.generation,
  ])
  return false
}

async function countMarks(tx: Tx, accountId: AccountId, grid: Grid, span: Span): Promise<boolean> {
  const slice = sliceOf(grid.rungs, span)
  const most = Math.max(1, Math.floor(span.countedAtOnce / slice))
  const due = await allRows<{ mark: string }>(tx, DUE, [accountId, grid.since, span.until, slice, most])
  const isDue = due.length === most
  await tx.query(
    `update payment_grids set marks = marks || $3::timestamptz[], is_due = $4, is_whole = is_whole or not $4
     where account_id = $1 and generation = $2`,
    [accountId, grid.generation, due.map(({ mark }) => mark), isDue],
  )
  // What a mark before counted is counted by each after it.
  await tx.query(
    `insert into payment_grid_counts (account_id, generation, mark, asset, status, upto)
     select account_id, generation, later, asset, status, upto
     from payment_grid_counts, generate_series(mark + 1, mark + $4::integer) later
     where account_id = $1 and generation = $2 and mark = $3`,
    [accountId, grid.generation, grid.marks, due.length],
  )
  await tx.query(COUNT, [accountId, grid.since, due.at(-1)?.mark ?? grid.since, grid.generation])
  return isDue
}

const thinnedBy = (rungs: number, { rungsMax }: Span): number => Math.max(1, Math.ceil(rungs / rungsMax))

/** So many payments lie between two marks, or a few more of one moment. */
const sliceOf = (rungs: number, span: Span): number => Math.ceil(span.rung / 2) * thinnedBy(rungs, span)

/** The first of an account; another where none is under way, and a rung has become too large that would be split. */
async function beginGrid(tx: Tx, accountId: AccountId, span: Span): Promise<void> {
  const { rungs } = await oneRow<{ rungs: number }>(
    tx,
    `select count(*)::integer as rungs from (
       select distinct net_minor, created_at, id from payment_rungs where account_id = $1 and sort = 'total') r`,
    [accountId],
  )
  const last = await firstRow<{ generation: number; had: number; isWhole: boolean; largest: bigint }>(
    tx,
    `select generation, rungs as had, is_whole as "isWhole", coalesce((
       select max(payments) from (
         select sum(n - coalesce(upto[rung - 1], 0)) as payments
         from payment_grid_counts c cross join lateral unnest(upto) with ordinality each (n, rung)
         where c.account_id = g.account_id and c.generation = g.generation and mark = cardinality(marks)
         group by rung) by_rung), 0)::bigint as largest
     from payment_grids g where account_id = $1 order by generation desc limit 1`,
    [accountId],
  )
  if (last) {
    const most = span.rung * Math.max(RUNG_MAX * thinnedBy(last.had, span), RUNG_SHARE_MAX * rungs)
    const isOutgrown = rungs >= GROWN_MAX * last.had || (rungs > last.had && last.largest >= most)
    if (!last.isWhole || !isOutgrown) return
  }
  await tx.query(BEGIN, [
    accountId,
    (last?.generation ?? 0) + 1,
    rungs,
    thinnedBy(rungs, span),
    span.until,
    2 * sliceOf(rungs, span),
  ])
}

/** By the rungs as they are, but for those of the last payments: each is older than the last mark will be. */
const BEGIN = `
  insert into payment_grids (account_id, generation, rungs, net_minors, created_ats, ids)
  select $1, $2, $3, array_agg(net_minor order by n), array_agg(created_at order by n), array_agg(id order by n)
  from (
    select *, row_number() over (order by net_minor, created_at, id) - 1 as n from (
      select distinct net_minor, created_at, id from payment_rungs where account_id = $1 and sort = 'total'
        and created_at < (select p.created_at from payments p where p.account_id = $1 and p.created_at < $5::timestamptz
          order by p.created_at desc offset $6::bigint limit 1)
      union select ${FIRST_RUNG}) older) rungs
  where n % $4::integer = 0`

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
      from payment_grids, unnest(marks) with ordinality each (mark, n) where account_id = $1 and generation = $4::integer
    ), rungs as materialized (
      select n::integer as rung, net_minor, created_at, id
      from payment_grids, unnest(net_minors, created_ats, ids) with ordinality each (net_minor, created_at, id, n)
      where account_id = $1 and generation = $4::integer
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
  on counted.account_id = $1 and counted.generation = $4::integer and counted.mark = more.mark
    and counted.asset = more.asset and counted.status = more.status
  when matched then update set upto = (
    select array_agg(was + added order by rung) from unnest(counted.upto, more.upto) with ordinality each (was, added, rung))
  when not matched then insert (account_id, generation, mark, asset, status, upto)
    values ($1, $4::integer, more.mark, more.asset, more.status, more.upto)`
