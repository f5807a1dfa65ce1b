/** What a transaction that nobody remembers took of our UTXOs, and the withdrawals that it may have paid. */
import type { Asset, ChainName } from '../../core/assets.ts'
import { GATEWAY } from '../../core/gateway-account.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { arraysOf } from '../../db/row-statements.ts'
import { allRows, firstRow } from '../../db/rows.ts'
import { openSql } from '../../treasury/signed-transaction.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'

export interface SpentUtxos {
  readonly count: number
  readonly atoms: bigint
  readonly height: number
  /** Blocks from the one that holds it to our tip. */
  readonly depth: number
  /** The open replacement sets that some of these UTXOs were chosen for: a bump may have taken UTXOs that another set gave back. */
  readonly sets: readonly string[]
}

/** UTXOs of ours that a transaction spends in our blocks; null when it spends none. */
export const findSpentUtxos = (db: Queryable, chain: ChainName, txid: string): Promise<SpentUtxos | null> =>
  firstRow(
    db,
    `select count(*)::int as count, sum(c.atoms) as atoms, min(c.spent_height)::int as height,
       min(v.tip_height - c.spent_height + 1)::int as depth,
       coalesce(array_agg(distinct t.txid) filter (where t.txid is not null), '{}') as sets
     from utxos c join chains v on v.chain = c.chain
     left join signed_transactions t on t.chain = c.chain and t.txid = c.reserved_by and ${openSql('t')}
     where c.chain = $1 and c.spent_by = $2 having count(*) > 0`,
    [chain, txid],
  )

export type OpenWithdrawal = Pick<
  Withdrawal,
  'accountId' | 'id' | 'asset' | 'netAtoms' | 'destination' | 'createdAt'
>

/**
 * Withdrawals that a transaction found in the chain may have paid, the oldest first, locked in that order: those that
 * nothing was signed for; or those of a replacement set whose UTXOs it took.
 */
export const lockPayable = (
  tx: Tx,
  chain: ChainName,
  replacementSet: string | null,
): Promise<OpenWithdrawal[]> =>
  allRows(
    tx,
    `select w.account_id as "accountId", w.id, w.asset, w.net_atoms as "netAtoms", w.destination, w.created_at as "createdAt"
     from withdrawals w
     left join signed_payouts p on p.account_id = w.account_id and p.withdrawal_id = w.id
     where w.chain = $1 and w.status in ('requested', 'broadcast')
       and (p.replacement_set = $2 or $2::text is null and p.replacement_set is null and w.refused_reason is null)
     order by w.created_at, w.id for update of w`,
    [chain, replacementSet],
  )

export interface FoundPayout {
  readonly chain: ChainName
  readonly txid: string
  /** The replacement set that it belongs to; its own txid when it opens one. */
  readonly replacementSet: string
  readonly asset: Asset
  /** What it pays to others. */
  readonly valueAtoms: bigint
  readonly feeAtoms: bigint
  readonly height: number
}

/** Writes down a transaction as if the signer had, but for its bytes: it is followed and never sent. */
export async function insertFound(
  tx: Tx,
  found: FoundPayout,
  paid: readonly OpenWithdrawal[],
): Promise<void> {
  await tx.query(
    `insert into signed_transactions (chain, txid, replacement_set, kind, status, asset, value_atoms, fee_atoms, fee_rate, created_at,
       since_height)
     values ($1, $2, $3, $4, 'recovered', $5, $6, $7, 1, clock_timestamp(), $8)`,
    [
      found.chain,
      found.txid,
      found.replacementSet,
      found.replacementSet === found.txid ? 'payout' : 'replacement',
      found.asset,
      found.valueAtoms,
      found.feeAtoms,
      found.height,
    ],
  )
  if (found.replacementSet === found.txid) await insertPaid(tx, found, paid)
}

/** From now on this transaction pays them, and no other ever does. */
export async function insertPaid(
  tx: Tx,
  { chain, txid }: Pick<FoundPayout, 'chain' | 'txid'>,
  paid: readonly Pick<OpenWithdrawal, 'accountId' | 'id'>[],
): Promise<void> {
  await tx.query(
    `insert into signed_payouts (account_id, withdrawal_id, chain, replacement_set)
     select account_id, id, $3, $4 from unnest($1::uuid[], $2::uuid[]) as paid (account_id, id)`,
    [...arraysOf(paid, 'accountId', 'id'), chain, txid],
  )
}

export interface KnownPayout
  extends Pick<FoundPayout, 'txid' | 'replacementSet' | 'asset' | 'valueAtoms' | 'feeAtoms'> {
  /** Ended as deep enough in the chain by the operator's settings. */
  readonly isFinal: boolean
  /** Blocks from the one in which it paid to our tip; 0 when there is none, or it reverted. */
  readonly depth: number
  /** What the withdrawals that it is known to pay receive. */
  readonly paidAtoms: bigint
  /** What is booked as leaving us besides. */
  readonly bookedAtoms: bigint
}

/** A signed payout or its replacement by its id, with what of its value is known to be whose; null for anything else. */
export const findKnownPayout = (db: Queryable, chain: ChainName, txid: string): Promise<KnownPayout | null> =>
  firstRow(
    db,
    `select t.txid, t.replacement_set as "replacementSet", t.asset, t.value_atoms as "valueAtoms", t.fee_atoms as "feeAtoms",
       t.status = 'confirmed' as "isFinal",
       case when t.status not in ('mined', 'confirmed') then 0 else v.tip_height - t.block_height + 1 end::int as depth,
       (select coalesce(sum(w.net_atoms), 0) from signed_payouts p
        join withdrawals w on w.account_id = p.account_id and w.id = p.withdrawal_id
        where p.chain = t.chain and p.replacement_set = t.replacement_set) as "paidAtoms",
       (select coalesce(sum(f.amount_atoms), 0) from journal_entries j
        join transfers f on f.account_id = j.account_id and f.entry_id = j.id
        where j.account_id = $3 and j.kind = 'spend' and j.subject_id = t.replacement_set and f.chain = t.chain) as "bookedAtoms"
     from signed_transactions t
     join signed_transactions o on o.chain = t.chain and o.txid = t.replacement_set and o.kind = 'payout'
     join chains v on v.chain = t.chain
     where t.chain = $1 and t.txid = $2 and t.kind <> 'child'`,
    [chain, txid, GATEWAY],
  )
