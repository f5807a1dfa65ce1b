/** The sums that must agree, each computed from rows that were written independently. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { GATEWAY } from '../ledger/journal.ts'

export interface Difference {
  readonly proof: string
  readonly chain: ChainName
  readonly asset: Asset
  /** Whose, or which row; null for a sum over the whole gateway. */
  readonly subject: string | null
  readonly expectedAtoms: bigint
  readonly foundAtoms: bigint
}

interface DifferenceRow {
  chain: ChainName
  asset: Asset
  subject: string | null
  expected: bigint
  found: bigint
}

const proof =
  (name: string, text: string) =>
  async (db: Queryable): Promise<Difference[]> => {
    const { rows } = await db.query<DifferenceRow>(text)
    return rows.map((row) => ({
      proof: name,
      chain: row.chain,
      asset: row.asset,
      subject: row.subject,
      expectedAtoms: row.expected,
      foundAtoms: row.found,
    }))
  }

/** Every transfer on its two sides; `wallet`, `network_fees` and `loss` grow by debits, all others by credits. */
const SIDES = `
  select account_id, chain, asset, debit as account, -amount_atoms as credited from transfers
  union all
  select account_id, chain, asset, credit as account, amount_atoms as credited from transfers`

export const balancesFollowTransfers = proof(
  'balances = transfers',
  `with booked as (
     select account_id, chain, asset, account as kind, sum(credited) as atoms from (${SIDES}) s
     where account in ('available', 'held', 'unresolved') group by 1, 2, 3, 4
   )
   select coalesce(b.chain, t.chain) as chain, coalesce(b.asset, t.asset) as asset,
     coalesce(b.account_id, t.account_id)::text || ' ' || coalesce(b.kind, t.kind) as subject,
     coalesce(t.atoms, 0) as expected, coalesce(b.atoms, 0) as found
   from balances b full join booked t using (account_id, chain, asset, kind)
   where coalesce(t.atoms, 0) <> coalesce(b.atoms, 0)`,
)

export const heldFundsFollowBalances = proof(
  'funds held for payments = unresolved balances',
  `with held as (
     select u.account_id, p.chain, u.asset, sum(u.atoms) as atoms
     from unresolved_funds u join payments p on p.account_id = u.account_id and p.id = u.payment_id group by 1, 2, 3
   ), owed as (select account_id, chain, asset, atoms from balances where kind = 'unresolved')
   select coalesce(h.chain, o.chain) as chain, coalesce(h.asset, o.asset) as asset,
     coalesce(h.account_id, o.account_id)::text as subject, coalesce(o.atoms, 0) as expected, coalesce(h.atoms, 0) as found
   from held h full join owed o using (account_id, chain, asset)
   where coalesce(h.atoms, 0) <> coalesce(o.atoms, 0)`,
)

export const bookingsFollowDeposits = proof(
  'bookings = confirmed deposits',
  `with booked as (
     select d.account_id, d.id, d.chain, d.asset,
       coalesce(sum(case when t.debit = 'wallet' then t.amount_atoms when t.credit = 'wallet' then -t.amount_atoms end), 0) as atoms
     from deposits d
     left join journal_entries j on j.account_id = d.account_id
       and j.cause in (select format('deposit:%s:%s:%s', d.id, w.word, n)
         from (values ('book'), ('reverse')) w (word), generate_series(1, d.bookings) n)
     left join transfers t on t.account_id = j.account_id and t.entry_id = j.id
     group by d.account_id, d.id, d.chain, d.asset
   )
   select b.chain, b.asset, 'deposit ' || b.id as subject,
     case when d.booked then d.amount_atoms else 0 end as expected, b.atoms as found
   from booked b join deposits d using (account_id, id)
   where b.atoms <> case when d.booked then d.amount_atoms else 0 end`,
)

export const settlementsFollowPayments = proof(
  'settlements = credited payments',
  `with settled as (
     select p.account_id, p.id, p.chain, p.asset,
       coalesce(sum(case when t.debit = 'unresolved' then t.amount_atoms when t.credit = 'unresolved' then -t.amount_atoms end), 0) as atoms
     from payments p
     left join journal_entries j on j.account_id = p.account_id
       and j.cause in (select format('payment:%s:%s:%s', p.id, w.word, n)
         from (values ('settle'), ('reverse'), ('accept')) w (word), generate_series(1, p.settlements) m,
           lateral (select case when w.word = 'accept' then m || ':' || p.asset else m::text end as n) x)
     left join transfers t on t.account_id = j.account_id and t.entry_id = j.id and t.asset = p.asset
     where p.settlements > 0
     group by p.account_id, p.id, p.chain, p.asset
   )
   select s.chain, s.asset, 'payment ' || s.id as subject,
     coalesce(p.credited_atoms + p.gateway_fee_atoms, 0) as expected, s.atoms as found
   from settled s join payments p using (account_id, id)
   where s.atoms <> coalesce(p.credited_atoms + p.gateway_fee_atoms, 0)`,
)

/** What the books say the chain holds for us: debits less credits of `wallet`. */
export async function sumWallets(db: Queryable, chain: ChainName): Promise<Map<Asset, bigint>> {
  const { rows } = await db.query<{ asset: Asset; atoms: bigint }>(
    `select asset, sum(-credited) as atoms from (${SIDES}) s where account = 'wallet' and chain = $1 group by asset`,
    [chain],
  )
  return new Map(rows.map((row) => [row.asset, row.atoms]))
}

/** Coins that blocks gave us and none spent. */
export async function listOutpoints(
  db: Queryable,
  chain: ChainName,
): Promise<{ txid: string; index: number }[]> {
  const { rows } = await db.query<{ txid: string; output_index: number }>(
    'select txid, output_index from coins where chain = $1 and block_height is not null and spent_by is null',
    [chain],
  )
  return rows.map((row) => ({ txid: row.txid, index: row.output_index }))
}

/** Addresses that may hold something: those that received, and the gateway's own. */
export async function listOwnEtherAddresses(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    `select address from addresses where chain = $1 and branch = 1
     union
     select address from deposits where chain = $1`,
    [chain],
  )
  return rows.map((row) => row.address)
}

/**
 * What the chain holds and the ledger's wallet does not: deposits in a block and not booked (confirming, or dust), and
 * capital of the operator alike.
 */
export async function sumOutsideLedger(
  db: Queryable,
  chain: ChainName,
): Promise<{ asset: Asset; reason: string; atoms: bigint }[]> {
  const { rows } = await db.query<{ asset: Asset; reason: string; atoms: bigint }>(
    `select asset, case when dust then 'dust' else 'confirming' end as reason, sum(amount_atoms) as atoms
     from deposits where chain = $1 and block_height is not null and not booked
     group by 1, 2
     union all
     select asset, 'reorganised' as reason, -sum(amount_atoms) as atoms
     from deposits where chain = $1 and block_height is null and booked
     group by 1
     union all
     select asset, 'capital' as reason, sum(atoms) from (
       select r.asset, r.atoms, 'capital:' || r.chain || ':' || r.tx_key || ':' || r.output_index as cause
       from receipts r where r.chain = $1
       union all
       select case when c.chain like '%bitcoin' then 'BTC' else 'LTC' end, c.atoms,
         'capital:' || c.chain || ':' || c.txid || ':' || c.output_index
       from coins c join addresses a on a.chain = c.chain and a.lookup = c.lookup
       where c.chain = $1 and a.payment_id is null and c.block_height is not null
         and not exists (select from signed_transactions s where s.chain = c.chain and s.txid = c.txid)
         and not exists (select from coins s where s.chain = c.chain and s.spent_by = c.txid)
         and not exists (select from deposits d where d.chain = c.chain and d.tx_key = c.txid and d.output_index = c.output_index)
     ) unbooked
     where not exists (select from journal_entries j where j.account_id = $2 and j.cause = unbooked.cause)
     group by asset`,
    [chain, GATEWAY],
  )
  return rows
}

export interface OwnTransaction {
  readonly txid: string
  readonly asset: Asset
  /** What leaves our wallets besides the fee: 0 between addresses of ours. */
  readonly leavesAtoms: bigint
  readonly feeAtoms: bigint
  /** The ledger has booked that it left. */
  readonly isBooked: boolean
  /** What the ledger has booked as its fee. */
  readonly bookedFeeAtoms: bigint
  /** Chains with outputs: the watcher saw a block that holds it. */
  readonly isSpent: boolean
}

/** Our own transactions that the chain and the ledger may see differently: open ones, and those booked lately. */
export async function listOwnUnderWay(db: Queryable, chain: ChainName): Promise<OwnTransaction[]> {
  const { rows } = await db.query<{
    txid: string
    asset: Asset
    leaves: bigint
    fee: bigint
    is_booked: boolean
    booked_fee: bigint
    is_spent: boolean
  }>(
    `select t.txid, t.asset, coalesce(t.paid_fee_atoms, t.fee_atoms) as fee,
       case when exists (select from signed_payouts p where p.chain = t.chain and p.line = t.line) and t.kind <> 'child'
         then t.value_atoms else 0 end as leaves,
       t.booked_fee_atoms > 0 and exists (select from signed_payouts p
         join withdrawals w on w.account_id = p.account_id and w.id = p.withdrawal_id
         where p.chain = t.chain and p.line = t.line
           and (w.status = 'completed' or w.refused_reason = 'paid_after_failure')) as is_booked,
       t.booked_fee_atoms as booked_fee,
       exists (select from coins c where c.chain = t.chain and c.spent_by = t.txid) as is_spent
     from signed_transactions t join chains v on v.chain = t.chain
     where t.chain = $1 and t.since_height is not null
       and (t.outcome is null or t.outcome in ('confirmed', 'reverted') and t.block_height > v.tip_height - 100)`,
    [chain],
  )
  return rows.map((row) => ({
    txid: row.txid,
    asset: row.asset,
    leavesAtoms: row.leaves,
    feeAtoms: row.fee,
    isBooked: row.is_booked,
    bookedFeeAtoms: row.booked_fee,
    isSpent: row.is_spent,
  }))
}
