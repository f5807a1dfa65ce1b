/** Reads that join the ledger's balances with the deposits still on their way. */
import type { Asset, Mode } from '../../core/assets.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { allRows } from '../../db/rows.ts'
import { pendingSql, presentSql } from '../../deposits/received.ts'
import type { MerchantAccount } from '../../ledger/chart-of-accounts.ts'

export interface BalanceNow {
  /** `YYYY-MM-DD`, UTC, by the database's clock. */
  readonly today: string
  readonly balances: readonly { asset: Asset; kind: MerchantAccount; atoms: bigint }[]
  /** Deposits seen and not confirmed, gross. */
  readonly pending: readonly { asset: Asset; atoms: bigint; deposits: number }[]
}

/**
 * What an account has now, in one round trip and whatever the number of transfers: at most 15 rows by primary key, and
 * the unconfirmed deposits from their partial index. Half of its time is planning, so nothing else is asked here: with
 * the closes of 30 days in the same statement it took 1.5 times as long.
 */
export async function readBalanceNow(db: Queryable, accountId: AccountId): Promise<BalanceNow> {
  const { rows } = await db.query<{ part: string; key: string; a: bigint; b: bigint }>(
    `select kind as part, asset as key, atoms as a, 0::numeric as b from balances where account_id = $1
     union all
     select 'pending', asset, sum(amount_atoms), count(*)
       from deposits d where account_id = $1 and ${pendingSql('d')}
       group by asset
     union all
     select 'today', to_char(now() at time zone 'utc', 'YYYY-MM-DD'), 0, 0`,
    [accountId],
  )
  let today = ''
  const balances: BalanceNow['balances'][number][] = []
  const pending: BalanceNow['pending'][number][] = []
  for (const { part, key, a, b } of rows) {
    if (part === 'today') today = key
    else if (part === 'pending') pending.push({ asset: key as Asset, atoms: a, deposits: Number(b) })
    else balances.push({ asset: key as Asset, kind: part as MerchantAccount, atoms: a })
  }
  return { today, balances, pending }
}

export interface BalanceAt {
  readonly accountId: AccountId
  readonly mode: Mode
  readonly asset: Asset
  readonly availableAtoms: bigint
  readonly pendingAtoms: bigint
}

/**
 * What accounts had when a day ended, exactly, however long ago: balances now less the transfers since. A deposit was
 * pending when it was seen by then and not yet booked; one that the chain has taken back since never counts.
 *
 * Reads the transfers since the day's end only, by (account, asset, time), all in one snapshot.
 *
 * @param day - `YYYY-MM-DD`, UTC.
 */
export const listBalancesAt = (
  db: Queryable,
  day: string,
  accountIds: readonly AccountId[],
): Promise<BalanceAt[]> =>
  allRows(
    db,
    `with moment as (select ($1::date + 1)::timestamp at time zone 'utc' as ended),
     asked as (
       select a.id as account_id, a.mode, c.asset from accounts a
       cross join (values ('BTC'), ('LTC'), ('ETH'), ('USDC'), ('USDT')) as c (asset)
       where a.id = any($2::uuid[])
     ),
     -- Not materialised: each branch below reads its own lines of the index and sums them as they come.
     later as not materialized (
       select asked.account_id, asked.asset, t.entry_id, t.debit, t.credit, t.amount_atoms
       from moment, asked join transfers t on t.account_id = asked.account_id and t.asset = asked.asset
       where t.created_at >= moment.ended
     ),
     parts as (
       select account_id, asset, atoms as available, 0 as pending
         from balances where account_id = any($2::uuid[]) and kind = 'available'
       union all
       select account_id, asset, case when debit = 'available' then amount_atoms else -amount_atoms end, 0
         from later where 'available' in (debit, credit)
       union all
       select account_id, asset, 0, amount_atoms
         from deposits d, moment
         where account_id = any($2::uuid[]) and ${pendingSql('d')}
           and seen_at < moment.ended
       union all
       select d.account_id, d.asset, 0, case when l.debit = 'wallet' then l.amount_atoms else -l.amount_atoms end
         from moment, later l
         join journal_entries e on e.account_id = l.account_id and e.id = l.entry_id and e.kind in ('deposit', 'deposit_reversal')
         join deposits d on d.account_id = e.account_id
           and d.id = case when e.kind in ('deposit', 'deposit_reversal') then e.subject_id::uuid end
         where 'wallet' in (l.debit, l.credit) and d.seen_at < moment.ended and ${presentSql('d')}
     )
     select asked.account_id as "accountId", asked.mode, asked.asset, sum(available)::numeric as "availableAtoms",
       sum(pending)::numeric as "pendingAtoms"
     from asked join parts using (account_id, asset)
     group by asked.account_id, asked.mode, asked.asset
     having sum(available) <> 0 or sum(pending) <> 0`,
    [day, accountIds],
  )

/** Accounts in the order of their ids, a page at a time. */
export async function listAccountIds(
  db: Queryable,
  after: AccountId | null,
  limit: number,
): Promise<AccountId[]> {
  const { rows } = await db.query<{ id: AccountId }>(
    'select id from accounts where $1::uuid is null or id > $1 order by id limit $2',
    [after, limit],
  )
  return rows.map((row) => row.id)
}
