/**
 * What reached our own addresses without being anybody's payment: the operator's capital, sent to the hot wallet from
 * outside, or to an address for deposits that no payment has, from where a sweep takes it to the hot wallet. On chains with
 * accounts blocks are noted here; on chains with outputs `utxos` shows it.
 */
import type { Asset, ChainName } from '../core/assets.ts'
import { GATEWAY } from '../core/gateway-account.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, firstRow } from '../db/rows.ts'
import { ADDRESS_OF_UTXO } from './own-address.ts'
import { openSql } from './signed-transaction.ts'

/**
 * To be called in the transaction that moves the cursor past the block. Reading it again changes nothing; what a reorganisation
 * put into another block may pay another sum there, as a swap does.
 */
export async function recordUnexpectedDeposits(
  tx: Tx,
  chain: ChainName,
  txKey: string,
  outputs: readonly {
    readonly lookup: Uint8Array
    readonly index: number
    readonly asset: Asset
    readonly atoms: bigint
  }[],
  blockHeight: number,
): Promise<void> {
  for (const { lookup, index, asset, atoms } of outputs) {
    if (atoms === 0n) continue
    await tx.query(
      `insert into unexpected_deposits (chain, tx_key, output_index, lookup, address, asset, atoms, block_height)
       values ($1, $2, $3, $4, (select a.address from addresses a where a.chain = $1 and a.lookup = $4 and a.branch = 0),
         $5, $6, $7)
       on conflict (chain, tx_key, output_index) do update set lookup = excluded.lookup, address = excluded.address,
         asset = excluded.asset, atoms = excluded.atoms, block_height = excluded.block_height`,
      [chain, txKey, index, lookup, asset, atoms, blockHeight],
    )
  }
}

/**
 * Takes back what a transaction brought that turned out to be our own.
 *
 * @returns Ether that it brought to addresses for deposits: gas.
 */
export const forgetUnexpectedDepositsOf = (
  tx: Tx,
  chain: ChainName,
  txKey: string,
): Promise<{ readonly address: string; readonly atoms: bigint }[]> =>
  allRows(
    tx,
    `with forgotten as (
       update unexpected_deposits set block_height = null, sweep = null where chain = $1 and tx_key = $2
       returning address, asset, atoms
     )
     select address, sum(atoms) as atoms from forgotten where address is not null and asset = 'ETH' group by address`,
    [chain, txKey],
  )

/**
 * SQL: what of `unexpected_deposits` of chain `$1` is booked as capital and lies in a block at an address for deposits, where
 * no sweep has taken it.
 */
export const UNSWEPT_CAPITAL = `address is not null and sweep is null
  and block_height <= (select c.capital_height from chains c where c.chain = $1)`

/**
 * Booked capital that the wallet does not have. At addresses for deposits: what no sweep took, or one whose block is not deep
 * enough or was lost; on chains with outputs nothing is swept. And what is in no block any more, wherever it was: a reorganisation
 * took it, or it turned out to be our own transaction that brought it, as after a restore.
 */
export async function sumCapitalOutside(db: Queryable, chain: ChainName, asset: Asset): Promise<bigint> {
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(o.atoms), 0) as atoms from (
       select r.atoms from unexpected_deposits r
       where r.chain = $1 and r.asset = $2
         and exists (select from journal_entries j where j.account_id = $3
           and j.kind = 'capital' and j.subject_id = r.tx_key and j.number = r.output_index)
         and (r.block_height is null or r.address is not null
           and not exists (select from sweeps s where s.chain = r.chain and s.id = r.sweep and s.status = 'done'
             and not exists (select from signed_transactions t
               where t.chain = s.chain and t.replacement_set = s.replacement_set and ${openSql('t')})))
       union all
       select c.atoms from journal_entries j
       join utxos c on c.chain = $1 and c.txid = j.subject_id and c.output_index = j.number
       where j.account_id = $3 and j.kind = 'capital' and c.block_height is null) o`,
    [chain, asset, GATEWAY],
  )
  return rows[0]?.atoms ?? 0n
}

export interface Capital {
  readonly txKey: string
  readonly index: number
  readonly asset: Asset
  readonly atoms: bigint
}

/** Blocks that are deep enough now and were not searched for capital before. */
export interface CapitalSearch {
  readonly chain: ChainName
  readonly aboveHeight: number
  readonly upToHeight: number
  /** The tip that this holds for. */
  readonly tipHash: string
}

/** Null while no further block is this deep. */
export const findCapitalSearch = (
  db: Queryable,
  chain: ChainName,
  depth: number,
): Promise<CapitalSearch | null> =>
  firstRow(
    db,
    `select chain, capital_height::float8 as "aboveHeight", (tip_height - $2 + 1)::float8 as "upToHeight", tip_hash as "tipHash"
     from chains
     where chain = $1 and tip_height - $2 + 1 > capital_height`,
    [chain, depth],
  )

/** Those blocks need not be searched again. Changes nothing when the chain moved meanwhile: the next search sees to it. */
export async function endCapitalSearch(db: Queryable, search: CapitalSearch): Promise<void> {
  await db.query(
    'update chains set capital_height = $3 where chain = $1 and capital_height = $2 and tip_hash = $4',
    [search.chain, search.aboveHeight, search.upToHeight, search.tipHash],
  )
}

/** Blocks above this height are to be searched for capital again. */
export async function searchCapitalAgain(tx: Tx, chain: ChainName, aboveHeight: number): Promise<void> {
  await tx.query('update chains set capital_height = $2 where chain = $1 and capital_height > $2', [
    chain,
    aboveHeight,
  ])
}

/**
 * Capital in these blocks that the ledger does not know yet. What spends UTXOs of ours is no capital but change, even when
 * a restored database knows nothing of its transaction.
 *
 * It begins at the heights (`utxos_by_height`, `unexpected_deposits_by_height`), so it costs what the new blocks brought, however
 * many UTXOs there are: bench/poll-payouts.ts has the figures.
 */
export const listUnbookedCapital = (
  db: Queryable,
  asset: 'BTC' | 'LTC' | null,
  { chain, aboveHeight, upToHeight }: CapitalSearch,
  limit: number,
): Promise<Capital[]> =>
  allRows(
    db,
    asset === null
      ? `select r.tx_key as "txKey", r.output_index as index, r.asset, r.atoms
         from unexpected_deposits r
         where r.chain = $1 and $2::text is null and r.block_height > $3 and r.block_height <= $4
           and not exists (select from journal_entries j where j.account_id = $5
             and j.kind = 'capital' and j.subject_id = r.tx_key and j.number = r.output_index offset 0)
         limit $6`
      : `select c.txid as "txKey", c.output_index as index, $2 as asset, c.atoms
         from utxos c
         ${ADDRESS_OF_UTXO}
         where c.chain = $1 and a.payment_id is null and c.block_height > $3 and c.block_height <= $4
           and not exists (select from signed_transactions s where s.chain = a.chain and s.txid = c.txid offset 0)
           and not exists (select from utxos s where s.chain = a.chain and s.spent_by = c.txid offset 0)
           and not exists (select from deposits d where d.chain = a.chain and d.tx_key = c.txid and d.output_index = c.output_index offset 0)
           and not exists (select from journal_entries j where j.account_id = $5
             and j.kind = 'capital' and j.subject_id = c.txid and j.number = c.output_index offset 0)
         limit $6`,
    [chain, asset, aboveHeight, upToHeight, GATEWAY, limit],
  )
