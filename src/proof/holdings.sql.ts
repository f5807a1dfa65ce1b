/**
 * What the blocks gave us and took, as the watcher and the payer wrote it down, beside what the ledger counts. Every sum
 * can begin where an earlier one ended, so that a block costs what it brought and not what ever was.
 */
import { type Asset, type ChainName, hasAccounts, nativeAsset } from '../core/assets.ts'
import { GATEWAY } from '../core/gateway-account.ts'
import type { Queryable } from '../db/database.ts'
import { allRows } from '../db/rows.ts'
import { ADDRESS_OF_UTXO, isHotWalletSql } from '../treasury/own-address.ts'
import { openSql, revertedSql } from '../treasury/signed-transaction.ts'

export type Sums = Map<Asset, bigint>

interface SumRow {
  asset: Asset
  atoms: bigint
}
const sumsOf = (rows: readonly SumRow[]): Sums => new Map(rows.map((row) => [row.asset, row.atoms]))

/** Heights above the first, up to and including the second. */
export interface Heights {
  readonly above: number
  readonly upTo: number
}

/** Outputs: what blocks paid to addresses of ours less what blocks spent of it. */
const OBSERVED_UTXOS = `
  select $4::text as asset, sum(atoms) as atoms, 0::numeric as hot_wallet from (
    select sum(atoms) as atoms from utxos where chain = $1 and block_height > $2 and block_height <= $3
    union all
    select -sum(atoms) from utxos where chain = $1 and spent_height > $2 and spent_height <= $3 and block_height is not null
  ) s having sum(atoms) is not null`

/** Rows of our own transactions in blocks, with what each takes from its sender and what of it leaves us for good. */
const SIGNED_IN_BLOCKS = `
  select t.txid, t.sender, t.asset, t.block_height,
    case when ${revertedSql('t')} then 0 else t.value_atoms end as value,
    coalesce(t.paid_fee_atoms, t.fee_atoms) as fee,
    -- A payout whose withdrawal a restored database does not know left us all the same.
    exists (select from signed_transactions o where o.chain = t.chain and o.txid = t.replacement_set and o.kind = 'payout') as pays,
    ${isHotWalletSql('t.chain', 't.sender')} as is_hot_wallet
  from signed_transactions t
  where t.chain = $1 and t.block_height > $2 and t.block_height <= $3`

/** Accounts: deposits and unexpected deposits, less what our own transactions paid and cost. `hot_wallet` is its part. */
const OBSERVED_BALANCES = `
  with signed as (${SIGNED_IN_BLOCKS})
  select asset, sum(atoms) as atoms, sum(hot_wallet) as hot_wallet from (
    select asset, amount_atoms as atoms, 0::numeric as hot_wallet from deposits
    where chain = $1 and block_height > $2 and block_height <= $3
    union all
    select r.asset, r.atoms, case when exists (select from addresses a
      where a.chain = r.chain and a.lookup = r.lookup and a.branch = 1) then r.atoms else 0 end
    from unexpected_deposits r where r.chain = $1 and r.block_height > $2 and r.block_height <= $3
    union all
    select asset, case when pays then -value else 0 end, case when is_hot_wallet then -value else value end from signed
    union all
    select 'ETH', -fee, case when is_hot_wallet then -fee else 0 end from signed
    union all
    select w.asset, 0, w.atoms from swept_tokens w join signed o on o.txid = w.txid where w.chain = $1
  ) s group by asset`

export interface Observed {
  readonly atoms: Sums
  /** Chains with accounts: the part that the gateway's own addresses hold. */
  readonly hotWallet: Sums
}

type ObservedRow = SumRow & { hot_wallet: bigint }

export async function sumObserved(db: Queryable, chain: ChainName, heights: Heights): Promise<Observed> {
  const blocks = [chain, heights.above, heights.upTo]
  const { rows } = hasAccounts(chain)
    ? await db.query<ObservedRow>(OBSERVED_BALANCES, blocks)
    : await db.query<ObservedRow>(OBSERVED_UTXOS, [...blocks, nativeAsset(chain)])
  return { atoms: sumsOf(rows), hotWallet: new Map(rows.map((row) => [row.asset, row.hot_wallet])) }
}

/**
 * An instant before which no transfer will be written any more: older than every transaction that runs. To be asked
 * before the snapshot that sums up to it.
 */
export async function findBookedBefore(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>(
    `select least(now(), min(xact_start)) - interval '1 minute' as at
     from pg_stat_activity where datname = current_database() and xact_start is not null`,
  )
  return rows[0]?.at ?? new Date(0)
}

/** What the books say the chain holds for us: debits less credits of `wallet`, of transfers written in a span. */
export async function sumWallets(
  db: Queryable,
  chain: ChainName,
  written: { readonly since: Date; readonly before: Date | null },
): Promise<Sums> {
  const { rows } = await db.query<SumRow>(
    `select asset, sum(case when debit = 'wallet' then amount_atoms else -amount_atoms end) as atoms
     from transfers where chain = $1 and (debit = 'wallet' or credit = 'wallet')
       and created_at >= $2 and ($3::timestamptz is null or created_at < $3) group by asset`,
    [chain, written.since, written.before],
  )
  return sumsOf(rows)
}

/** What blocks show and the ledger does not count yet, or counts still; by reason. Capital is looked for above a height. */
export async function sumUnlikeBooks(
  db: Queryable,
  chain: ChainName,
  capitalAbove: number,
): Promise<{ asset: Asset; reason: string; atoms: bigint }[]> {
  const accounts = hasAccounts(chain)
  const { rows } = await db.query<SumRow & { reason: string }>(
    `with capital as (${accounts ? CAPITAL_OF_ACCOUNTS : capitalOfOutputs(capitalAbove >= 0)}), signed as (${SIGNED_UNFINISHED})
     select asset, reason, sum(atoms) as atoms from (
       select asset, case when block_height is null then 'reorganised' when dust then 'dust' else 'confirming' end as reason,
         case when block_height is null then -amount_atoms else amount_atoms end as atoms
       from deposits where chain = $1 and (block_height is null) = booked
       union all
       select asset, case when block_height is null then 'capital reorganised' else 'capital' end,
         case when block_height is null then -atoms else atoms end
       from capital where (block_height is null) = exists (select from journal_entries j
         where j.account_id = $2 and j.kind = 'capital' and j.subject_id = capital.txid and j.number = capital.output_index)
       union all
       select asset, 'paying', paid - observed from (
         select $4::text as asset, booked_fee as paid, case when in_block then fee else 0 end as observed from signed
         union all
         select asset, 0, case when in_block and pays then value else 0 end from signed
         union all
         select t.asset, case when t.credit = 'wallet' then t.amount_atoms else -t.amount_atoms end, 0 from signed_payouts p
         join journal_entries j on j.account_id = p.account_id and j.subject_id = p.withdrawal_id::text
           and j.kind in ('completion', 'completion_reversal', 'paid_after_failure')
         join transfers t on t.account_id = j.account_id and t.entry_id = j.id and 'wallet' in (t.debit, t.credit)
         where p.chain = $1 and p.replacement_set in (select replacement_set from signed)
         union all
         select t.asset, t.amount_atoms, 0 from journal_entries j
         join transfers t on t.account_id = j.account_id and t.entry_id = j.id
         where j.account_id = $2 and j.kind = 'spend' and j.subject_id in (select replacement_set from signed) and t.chain = $1
       ) o
     ) unlike group by asset, reason having sum(atoms) <> 0`,
    [chain, GATEWAY, capitalAbove, nativeAsset(chain)],
  )
  return rows
}

const CAPITAL_OF_ACCOUNTS = `
  select tx_key as txid, output_index, asset, atoms, block_height from unexpected_deposits
  where chain = $1 and (block_height > $3 or block_height is null)`

/** @param isPart - Each of a few is looked up by its keys; all of millions are joined as PostgreSQL likes. */
const capitalOfOutputs = (isPart: boolean): string => {
  const byKey = isPart ? ' offset 0' : ''
  return `
  select c.txid, c.output_index, $4::text as asset, c.atoms, c.block_height
  from utxos c ${isPart ? ADDRESS_OF_UTXO : 'join addresses a on a.chain = c.chain and a.lookup = c.lookup'}
  where c.chain = $1 and a.payment_id is null and (c.block_height > $3 or c.block_height is null)
    and not exists (select from signed_transactions s where s.chain = a.chain and s.txid = c.txid${byKey})
    and not exists (select from utxos s where s.chain = a.chain and s.spent_by = c.txid${byKey})
    and not exists (select from deposits d where d.chain = a.chain and d.tx_key = c.txid and d.output_index = c.output_index${byKey})`
}

/** Our own transactions whose replacement set is open, or ended where a reorganisation may still reach it. */
const SIGNED_UNFINISHED = `
  select t.replacement_set, t.asset, t.value_atoms as value, coalesce(t.paid_fee_atoms, t.fee_atoms) as fee,
    t.booked_fee_atoms as booked_fee,
    t.kind <> 'child' and not ${revertedSql('t')}
      and (exists (select from signed_payouts p where p.chain = t.chain and p.replacement_set = t.replacement_set)
        or exists (select from journal_entries j where j.account_id = $2
          and j.kind = 'spend' and j.subject_id = t.replacement_set)) as pays,
    case when t.sender is not null then t.block_height is not null else exists (select from utxos c
      where c.chain = t.chain and c.spent_by = t.txid) end as in_block
  from signed_transactions t
  where t.chain = $1 and t.replacement_set in (
    select o.replacement_set from signed_transactions o where o.chain = $1 and ${openSql('o')}
    union
    select s.replacement_set from signed_transactions s
    where s.chain = $1 and s.block_height >= (select min(k.height) from chain_blocks k where k.chain = $1))`

export interface UnspentUtxo {
  readonly txid: string
  readonly index: number
  readonly atoms: bigint
}

/** UTXOs in blocks that nothing spends, in the order of their outpoints. */
export async function listUnspent(
  db: Queryable,
  chain: ChainName,
  of: { readonly aboveHeight: number; readonly after: string; readonly limit: number },
): Promise<UnspentUtxo[]> {
  const [txid = '', index = '-1'] = of.after.split(':')
  const { rows } = await db.query<UnspentUtxo>(
    `select txid, output_index as index, atoms from utxos
     where chain = $1 and block_height > $2 and spent_by is null and (txid, output_index) > ($3, $4::integer)
     order by txid, output_index limit $5`,
    [chain, of.aboveHeight, txid, Number(index), of.limit],
  )
  return rows
}

/**
 * Deposit addresses that ever received something, in their order; above a height, those that something moved at. What came
 * unexpected is at the few that no payment has.
 */
export async function listFundedAddresses(
  db: Queryable,
  chain: ChainName,
  of: {
    readonly aboveHeight: number
    readonly after: string
    readonly upTo?: string
    readonly limit: number
  },
): Promise<string[]> {
  const text =
    of.aboveHeight < 0
      ? `select address from (
           (select distinct address from deposits where chain = $1 and address > $3 and $2 < 0
              and ($5::text is null or address <= $5) order by address limit $4)
           union
           (select distinct address from unexpected_deposits where chain = $1 and address > $3
              and ($5::text is null or address <= $5) order by address limit $4)
         ) funded order by address limit $4`
      : `select address from (
           select address from deposits where chain = $1 and block_height > $2
           union
           select address from unexpected_deposits where chain = $1 and block_height > $2 and address is not null
           union
           select sender from signed_transactions where chain = $1 and block_height > $2
           union
           select w.address from swept_tokens w join signed_transactions s on s.chain = w.chain and s.txid = w.txid
           where w.chain = $1 and s.block_height > $2
           union
           select address from address_spends where chain = $1 and block_height > $2
         ) moved where address > $3 and ($5::text is null or address <= $5)
           and not ${isHotWalletSql('$1', 'moved.address')}
         order by address limit $4`
  const { rows } = await db.query<{ address: string }>(text, [
    chain,
    of.aboveHeight,
    of.after,
    of.limit,
    of.upTo ?? null,
  ])
  return rows.map((row) => row.address)
}

/** The gateway's own addresses on a chain with accounts: hot wallets, of retired wallets too. */
export async function listHotWallets(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    'select address from addresses where chain = $1 and branch = 1 order by address',
    [chain],
  )
  return rows.map((row) => row.address)
}

export interface AddressSum {
  readonly address: string
  readonly asset: Asset
  readonly atoms: bigint
}

/** What deposit addresses should hold, leaving aside those transactions of ours that only the chain can tell about now. */
export const sumAddresses = (
  db: Queryable,
  chain: ChainName,
  addresses: readonly string[],
  aside: readonly string[],
): Promise<AddressSum[]> =>
  allRows(
    db,
    `select address, asset, sum(atoms) as atoms from (
       select d.address, d.asset, d.amount_atoms as atoms from deposits d
       where d.chain = $1 and d.address = any($2::text[]) and d.block_height is not null
       union all
       select a.address, r.asset, r.atoms from unnest($2::text[]) as a (address)
       join unexpected_deposits r on r.lookup = decode(substr(a.address, 3), 'hex')
       where r.chain = $1 and r.block_height is not null
       union all
       select g.address, 'ETH', g.atoms from gas_funding g where g.chain = $1 and g.address = any($2::text[])
       union all
       select s.sender, s.asset, case when ${revertedSql('s')} then 0 else -s.value_atoms end from signed_transactions s
       where s.chain = $1 and s.sender = any($2::text[]) and s.block_height is not null and s.txid <> all($3::text[])
       union all
       select s.sender, 'ETH', -coalesce(s.paid_fee_atoms, s.fee_atoms) from signed_transactions s
       where s.chain = $1 and s.sender = any($2::text[]) and s.block_height is not null and s.txid <> all($3::text[])
       union all
       select w.address, w.asset, -w.atoms from swept_tokens w join signed_transactions s on s.chain = w.chain and s.txid = w.txid
       where w.chain = $1 and w.address = any($2::text[]) and s.block_height is not null and s.txid <> all($3::text[])
     ) x group by address, asset`,
    [chain, addresses, aside],
  )

/** One of our transactions on a chain with accounts whose block only the chain knows for sure. */
export interface UncertainTransaction {
  readonly txid: string
  readonly sender: string
  /** Its sender is a hot wallet; otherwise it sweeps to one. */
  readonly isHotWallet: boolean
  readonly asset: Asset
  readonly valueAtoms: bigint
  readonly feeAtoms: bigint
  /** The block of our rows; null for no block. */
  readonly blockHeight: number | null
  /** As far as our rows know. */
  readonly reverted: boolean
  /** Tokens that it brought to the hot wallet as part of a batch, as far as our rows know. */
  readonly swept: readonly { readonly asset: Asset; readonly atoms: bigint }[]
}

/** Those sent and not ended, and ended ones whose block our chain does not hold. */
export async function listUncertain(db: Queryable, chain: ChainName): Promise<UncertainTransaction[]> {
  const { rows } = await db.query<
    Omit<UncertainTransaction, 'swept'> & { readonly swept: readonly { asset: Asset; atoms: string }[] }
  >(
    `select t.txid, t.sender, t.asset, t.value_atoms as "valueAtoms", coalesce(t.paid_fee_atoms, t.fee_atoms) as "feeAtoms",
       t.block_height::float8 as "blockHeight", ${revertedSql('t')} as reverted,
       (select coalesce(json_agg(json_build_object('asset', w.asset, 'atoms', w.atoms::text)), '[]') from swept_tokens w
        where w.chain = t.chain and w.txid = t.txid) as swept,
       ${isHotWalletSql('t.chain', 't.sender')} as "isHotWallet"
     from (
       select o.* from signed_transactions o where ${openSql('o')}
       union all
       select u.* from unseen_ends() u) t
     where t.chain = $1 and t.sender is not null`,
    [chain],
  )
  return rows.map((row) => ({
    ...row,
    swept: row.swept.map(({ asset, atoms }) => ({ asset, atoms: BigInt(atoms) })),
  }))
}

/** Our addresses by their lookups, in the order asked; null for strangers'. */
export async function findAddresses(
  db: Queryable,
  chain: ChainName,
  lookups: readonly Uint8Array[],
): Promise<(string | null)[]> {
  if (lookups.length === 0) return []
  const { rows } = await db.query<{ address: string | null }>(
    `select a.address from unnest($2::bytea[]) with ordinality as wanted (lookup, number)
     left join addresses a on a.chain = $1 and a.lookup = wanted.lookup order by wanted.number`,
    [chain, lookups.map((lookup) => Buffer.from(lookup))],
  )
  return rows.map((row) => row.address)
}
