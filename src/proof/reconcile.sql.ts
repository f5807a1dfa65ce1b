/**
 * Rows that must agree with each other, though they were written by different hands. Each query names the rows that
 * do not. They read whole tables: a proof for now and then, not for every block.
 */
import { type Asset, CHAINS, type ChainName } from '../core/assets.ts'
import { GATEWAY } from '../core/gateway-account.ts'
import { showIdOf } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { ENTRY_KINDS } from '../ledger/chart-of-accounts.ts'
import { openSql } from '../treasury/signed-transaction.ts'
import type { Difference } from './compare-chain.ts'
import { SWEPT_UNLIKE } from './swept.sql.ts'

interface DifferenceRow extends Omit<Difference, 'proof'> {
  /** A word and the id of its row: `deposit <uuid>`. */
  readonly subject: string
  /** Its place among the rows of its coin that the proof found, and how many these are. */
  readonly place: bigint
  readonly ofCoin: bigint
}

/** Rows of one proof and coin that differ and are not named. */
export interface MoreRows {
  readonly proof: string
  readonly chain: ChainName
  readonly asset: Asset
  readonly rows: number
}

export interface UnlikeRows {
  /** Of every coin that a proof finds unlike, at least its first rows. */
  readonly differences: readonly Difference[]
  readonly more: readonly MoreRows[]
}

/** Ids as the API shows them. */
function observed(subject: string): string {
  const [word = '', id = '', ...rest] = subject.split(' ')
  return [word, showIdOf(word, id), ...rest].join(' ')
}

const quoted = (of: readonly string[]): string => of.map((word) => `'${word}'`).join(', ')

/**
 * So many rows of a coin are named; one statement can make millions differ, of as many chains that there are not, which
 * nobody reads and no process holds.
 */
export const NAMED_MAX = 1_000

export type Prove = (db: Queryable) => Promise<UnlikeRows>

const proof =
  (name: string, text: string): Prove =>
  async (db) => {
    const { rows } = await db.query<DifferenceRow>(
      `select chain, asset, subject, expected as "expectedAtoms", found as "foundAtoms", place, of_coin as "ofCoin" from (
         select u.*, row_number() over (partition by chain, asset order by subject) as place,
           count(*) over (partition by chain, asset) as of_coin
         from (select case when chain in (${quoted(CHAINS)}) then chain else 'unknown' end as chain, asset,
           left(subject, 300) as subject, expected, found from (${text}) unlike) u
       ) placed where place <= ${NAMED_MAX} order by chain, asset, place`,
    )
    return {
      differences: rows.map(({ chain, asset, subject, expectedAtoms, foundAtoms }) => ({
        proof: name,
        chain,
        asset,
        subject: observed(subject),
        expectedAtoms,
        foundAtoms,
      })),
      more: rows
        .filter(({ place, ofCoin }) => place === BigInt(NAMED_MAX) && ofCoin > place)
        .map(({ chain, asset, place, ofCoin }) => ({
          proof: name,
          chain,
          asset,
          rows: Number(ofCoin - place),
        })),
    }
  }

/** Every transfer on its two sides; a merchant's accounts grow by credits. */
const SIDES = `
  select account_id, chain, asset, debit as account, -amount_atoms as credited from transfers
  union all
  select account_id, chain, asset, credit as account, amount_atoms as credited from transfers`

const balancesFollowTransfers = proof(
  'balances = transfers',
  `with booked as (
     select account_id, chain, asset, account as kind, sum(credited) as atoms from (${SIDES}) s
     where account in ('available', 'held', 'unresolved') group by 1, 2, 3, 4
   )
   select coalesce(b.chain, t.chain) as chain, coalesce(b.asset, t.asset) as asset,
     'account ' || coalesce(b.account_id, t.account_id) || ' ' || coalesce(b.kind, t.kind) as subject,
     coalesce(t.atoms, 0) as expected, coalesce(b.atoms, 0) as found
   from balances b full join booked t using (account_id, chain, asset, kind)
   where coalesce(t.atoms, 0) <> coalesce(b.atoms, 0)`,
)

const unresolvedFundsFollowBalances = proof(
  'funds held for payments = unresolved balances',
  `with held as (
     select u.account_id, p.chain, u.asset, sum(u.atoms) as atoms
     from unresolved_funds u join payments p on p.account_id = u.account_id and p.id = u.payment_id group by 1, 2, 3
   ), owed as (select account_id, chain, asset, atoms from balances where kind = 'unresolved')
   select coalesce(h.chain, o.chain) as chain, coalesce(h.asset, o.asset) as asset,
     'account ' || coalesce(h.account_id, o.account_id) as subject, coalesce(o.atoms, 0) as expected, coalesce(h.atoms, 0) as found
   from held h full join owed o using (account_id, chain, asset)
   where coalesce(h.atoms, 0) <> coalesce(o.atoms, 0)`,
)

const bookingsFollowDeposits = proof(
  'bookings = confirmed deposits',
  `with booked as (
     select d.account_id, d.id, d.chain, d.asset,
       coalesce(sum(case when t.debit = 'wallet' then t.amount_atoms when t.credit = 'wallet' then -t.amount_atoms end), 0) as atoms
     from deposits d
     left join journal_entries j on j.account_id = d.account_id and j.subject_id = d.id::text
       and j.kind in (${quoted(ENTRY_KINDS.deposit)})
     left join transfers t on t.account_id = j.account_id and t.entry_id = j.id
     group by d.account_id, d.id, d.chain, d.asset
   )
   select b.chain, b.asset, 'deposit ' || b.id as subject,
     case when d.booked then d.amount_atoms else 0 end as expected, b.atoms as found
   from booked b join deposits d using (account_id, id)
   where b.atoms <> case when d.booked then d.amount_atoms else 0 end`,
)

const settlementsFollowPayments = proof(
  'settlements = credited payments',
  `with settled as (
     select p.account_id, p.id, p.chain, p.asset,
       coalesce(sum(case when t.debit = 'unresolved' then t.amount_atoms when t.credit = 'unresolved' then -t.amount_atoms end), 0) as atoms
     from payments p
     left join journal_entries j on j.account_id = p.account_id and j.subject_id = p.id::text
       and j.kind in (${quoted(ENTRY_KINDS.payment)})
     left join transfers t on t.account_id = j.account_id and t.entry_id = j.id and t.asset = p.asset
     where p.settlements > 0
     group by p.account_id, p.id, p.chain, p.asset
   )
   select s.chain, s.asset, 'payment ' || s.id as subject,
     coalesce(p.credited_atoms + p.gateway_fee_atoms, 0) as expected, s.atoms as found
   from settled s join payments p using (account_id, id)
   where s.atoms <> coalesce(p.credited_atoms + p.gateway_fee_atoms, 0)`,
)

/** What is held for a withdrawal while it runs, and what left for it. */
const postingsFollowWithdrawals = proof(
  'postings = withdrawals',
  `with booked as (
     select w.account_id, w.id,
       coalesce(sum(case when t.credit = 'held' then t.amount_atoms when t.debit = 'held' then -t.amount_atoms end), 0) as held,
       coalesce(sum(case when t.credit = 'wallet' then t.amount_atoms when t.debit = 'wallet' then -t.amount_atoms end), 0) as left_us
     from withdrawals w
     left join journal_entries j on j.account_id = w.account_id and j.subject_id = w.id::text
       and j.kind in (${quoted(ENTRY_KINDS.withdrawal)})
     left join transfers t on t.account_id = j.account_id and t.entry_id = j.id and t.asset = w.asset and t.chain = w.chain
     group by w.account_id, w.id
   ), checked as (
     select w.chain, w.asset, 'withdrawal ' || w.id || ' held' as subject, b.held as found,
       case when w.status in ('requested', 'broadcast') then w.amount_atoms else 0 end as expected
     from booked b join withdrawals w using (account_id, id)
     union all
     select w.chain, w.asset, 'withdrawal ' || w.id || ' paid', b.left_us,
       -- What failed by a call that reverted may be paid by the same call after a deep reorganisation.
       case when w.status = 'completed' or w.status = 'failed' and exists (select from signed_payouts p
         join signed_transactions t on t.chain = p.chain and t.replacement_set = p.replacement_set
         where p.account_id = w.account_id and p.withdrawal_id = w.id and t.status = 'confirmed' and t.kind <> 'child')
         then w.net_atoms else 0 end
     from booked b join withdrawals w using (account_id, id)
   )
   select * from checked where expected <> found`,
)

/** A withdrawal on its way or done has a replacement set that pays it, under the id that it shows. */
const setsFollowWithdrawals = proof(
  'signed transactions = withdrawals',
  `select w.chain, w.asset, 'withdrawal ' || w.id || ' ' || w.status as subject, w.net_atoms as expected, 0::numeric as found
   from withdrawals w
   where w.status in ('broadcast', 'completed') and not exists (
     select from signed_payouts p join signed_transactions t on t.chain = p.chain and t.replacement_set = p.replacement_set
     where p.account_id = w.account_id and p.withdrawal_id = w.id and t.txid = w.tx_hash and t.chain = w.chain)`,
)

/** A payout pays exactly the withdrawals it was signed for, and what the operator booked of one that was forgotten. */
const valuesFollowPayouts = proof(
  'values = payouts',
  `with paid as (
     select t.chain, t.asset, t.txid, t.value_atoms as found,
       (select coalesce(sum(w.net_atoms), 0) from signed_payouts p
        join withdrawals w on w.account_id = p.account_id and w.id = p.withdrawal_id and w.asset = t.asset
        where p.chain = t.chain and p.replacement_set = t.replacement_set)
       + (select coalesce(sum(f.amount_atoms), 0) from journal_entries j
          join transfers f on f.account_id = j.account_id and f.entry_id = j.id
          where j.account_id = '${GATEWAY}' and j.kind = 'spend' and j.subject_id = t.replacement_set and f.chain = t.chain) as expected
     from signed_transactions t
     join signed_transactions o on o.chain = t.chain and o.txid = t.replacement_set and o.kind = 'payout'
     where t.kind <> 'child'
   )
   select chain, asset, 'transaction ' || txid as subject, expected, found from paid where expected <> found`,
)

/** Chains with outputs: only what we signed spends our coins. */
const spendsFollowTransactions = proof(
  'spent coins = transactions of ours',
  `select c.chain, v.native_asset as asset, 'transaction ' || c.spent_by as subject,
     0::numeric as expected,
     sum(c.atoms) - coalesce((select sum(o.atoms) from utxos o where o.chain = c.chain and o.txid = c.spent_by), 0) as found
   from utxos c join chains v on v.chain = c.chain
   where c.spent_by is not null
     and not exists (select from signed_transactions s where s.chain = c.chain and s.txid = c.spent_by)
   group by c.chain, v.native_asset, c.spent_by`,
)

/** A settled transaction's fee is booked once, and nobody else's is. */
const feesFollowTransactions = proof(
  'booked fees = settled transactions',
  `with booked as (
     select t.chain, t.txid,
       coalesce(sum(case when f.debit = 'network_fees' then f.amount_atoms when f.credit = 'network_fees' then -f.amount_atoms end), 0) as atoms
     from signed_transactions t
     left join journal_entries j on j.account_id = '${GATEWAY}' and j.kind = 'network_fee' and j.subject_id = t.txid
     left join transfers f on f.account_id = j.account_id and f.entry_id = j.id and f.chain = t.chain
     group by t.chain, t.txid
   ), checked as (
     select b.chain, v.native_asset as asset,
       'transaction ' || b.txid as subject, b.atoms as found,
       case when t.status in ('confirmed', 'reverted') then t.paid_fee_atoms
         when ${openSql('t')} then t.booked_fee_atoms else 0 end as expected
     from booked b join signed_transactions t using (chain, txid) join chains v on v.chain = t.chain
   )
   select * from checked where expected <> found`,
)

/**
 * Chains with outputs: what a transaction of ours took in our blocks is what it paid, its fee and its change. One that ended
 * in a block that the watcher has not read, or has undone, took nothing in ours.
 */
const utxosFollowTransactions = proof(
  'spent coins = settled transactions',
  `with moved as (
     select t.chain, t.asset, t.txid, t.value_atoms + t.fee_atoms as expected,
       (select coalesce(sum(atoms), 0) from utxos c where c.chain = t.chain and c.spent_by = t.txid)
       - (select coalesce(sum(atoms), 0) from utxos c where c.chain = t.chain and c.txid = t.txid) as found
     from signed_transactions t where t.sender is null and t.status = 'confirmed'
       and not exists (select from unseen_ends() u where u.chain = t.chain and u.txid = t.txid)
   )
   select chain, asset, 'transaction ' || txid as subject,
     expected, found from moved where expected <> found`,
)

/** Chains with outputs: a deposit is a coin, to the atom and in the same block. */
const utxosFollowDeposits = proof(
  'coins = deposits',
  `select d.chain, d.asset, 'deposit ' || d.id as subject, d.amount_atoms as expected, coalesce(c.atoms, 0) as found
   from deposits d left join utxos c on c.chain = d.chain and c.txid = d.tx_key and c.output_index = d.output_index
   where d.asset in ('BTC', 'LTC') and d.block_height is not null
     and (c.atoms, c.block_height) is distinct from (d.amount_atoms, d.block_height)`,
)

/** Every entry has something that it books, under a number that was given out. */
const entriesHaveCauses = proof(
  'entries = what they book',
  `select t.chain, t.asset, 'entry ' || j.kind || ' ' || j.subject_id || ' ' || j.number as subject,
     0::numeric as expected, sum(t.amount_atoms) as found
   from journal_entries j join transfers t on t.account_id = j.account_id and t.entry_id = j.id
   left join deposits d on j.kind in (${quoted(ENTRY_KINDS.deposit)})
     and d.account_id = j.account_id and d.id::text = j.subject_id and j.number between 1 and d.bookings
   left join payments p on j.kind in (${quoted(ENTRY_KINDS.payment)})
     and p.account_id = j.account_id and p.id::text = j.subject_id and j.number between 1 and p.settlements
   left join withdrawals w on j.kind in (${quoted(ENTRY_KINDS.withdrawal)})
     and w.account_id = j.account_id and w.id::text = j.subject_id and j.number = 1
   left join signed_transactions s on s.chain = t.chain and s.txid = j.subject_id
     and (j.kind = 'network_fee' and j.number between 1 and s.fee_bookings
       or j.kind = 'spend' and j.number = 1 and s.kind = 'payout')
   left join unexpected_deposits r on j.kind = 'capital' and r.chain = t.chain and r.tx_key = j.subject_id
     and r.output_index = j.number and (r.asset, r.atoms) = (t.asset, t.amount_atoms)
   left join utxos c on j.kind = 'capital' and c.chain = t.chain and c.txid = j.subject_id
     and c.output_index = j.number and c.atoms = t.amount_atoms
   where coalesce(d.id, p.id, w.id) is null and coalesce(s.txid, r.tx_key, c.txid) is null
   group by t.chain, t.asset, j.kind, j.subject_id, j.number`,
)

/** All of them, in the order of a withdrawal's way back to the coins it came from. */
export const ROW_PROOFS: readonly Prove[] = [
  balancesFollowTransfers,
  unresolvedFundsFollowBalances,
  bookingsFollowDeposits,
  utxosFollowDeposits,
  settlementsFollowPayments,
  postingsFollowWithdrawals,
  setsFollowWithdrawals,
  valuesFollowPayouts,
  feesFollowTransactions,
  utxosFollowTransactions,
  spendsFollowTransactions,
  entriesHaveCauses,
  proof('swept deposits = sweeps', SWEPT_UNLIKE),
]

/** The rows that do not agree, by all of the proofs. */
export async function findUnlikeRows(db: Queryable): Promise<UnlikeRows> {
  const found: UnlikeRows[] = []
  for (const prove of ROW_PROOFS) found.push(await prove(db))
  return {
    differences: found.flatMap(({ differences }) => differences),
    more: found.flatMap(({ more }) => more),
  }
}
