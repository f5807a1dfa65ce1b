/**
 * The UTXOs of chains with outputs: every output that ever paid an address of ours, deposits and change alike, where
 * it is and what spent it. The watcher writes what blocks show; the signer reserves what it spends.
 */
import type { ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { countRows } from '../db/rows.ts'
import { ADDRESS_OF_UTXO } from './own-address.ts'
import { comingSql } from './signed-transaction.ts'

/** A block as far as UTXOs go; `Block` of the chain port fits. */
export interface UtxoBlock {
  readonly height: number
  readonly transactions: readonly {
    readonly key: string
    readonly outputs: readonly {
      readonly lookup: Uint8Array
      readonly index: number
      readonly atoms: bigint
    }[]
    /** None only in a block's first transaction, which mints. */
    readonly inputs: readonly unknown[]
  }[]
}

/**
 * Records the UTXOs that a block gives us. Reading a block again changes nothing.
 * To be called for chains with outputs, in the transaction that moves the cursor past the block.
 *
 * @param isOurs - Whether a scriptPubKey has a row in `addresses`, of either branch, issued or not: the caller matched
 *   the block's outputs against that table already.
 */
export async function recordUtxos(
  tx: Tx,
  chain: ChainName,
  block: UtxoBlock,
  isOurs: (lookup: Uint8Array) => boolean,
): Promise<void> {
  const given = block.transactions.flatMap(({ key, outputs, inputs }) =>
    outputs
      .filter((output) => isOurs(output.lookup))
      .map((output) => ({ txid: key, isCoinbase: inputs.length === 0, ...output })),
  )
  if (given.length === 0) return
  await tx.query(
    `insert into utxos (chain, txid, output_index, lookup, atoms, is_coinbase, block_height)
       select $1::text, txid, output_index, lookup, atoms, is_coinbase, $2::bigint
       from unnest($3::text[], $4::integer[], $5::bytea[], $6::numeric[], $7::boolean[])
         as given (txid, output_index, lookup, atoms, is_coinbase)
       order by txid, output_index
       on conflict (chain, txid, output_index) do update set block_height = excluded.block_height
         where utxos.block_height is distinct from excluded.block_height`,
    [chain, block.height, ...arraysOf(given, 'txid', 'index', 'lookup', 'atoms', 'isCoinbase')],
  )
}

/**
 * Notes which of our UTXOs a block spends; spends of other UTXOs are ignored. To be called after {@link recordUtxos} of
 * the same block, in the same transaction.
 */
export async function markUtxosSpent(
  tx: Tx,
  chain: ChainName,
  blockHeight: number,
  spends: readonly { readonly txKey: string; readonly spentTx: string; readonly spentIndex: number }[],
): Promise<void> {
  if (spends.length === 0) return
  await tx.query(
    `update utxos set spent_by = spent.by, spent_height = $2::bigint
     from unnest($3::text[], $4::text[], $5::bigint[]) as spent (by, txid, output_index)
     where utxos.chain = $1::text and utxos.txid = spent.txid and utxos.output_index = spent.output_index
       and (utxos.spent_by, utxos.spent_height) is distinct from (spent.by, $2::bigint)`,
    [chain, blockHeight, ...arraysOf(spends, 'txKey', 'spentTx', 'spentIndex')],
  )
}

/**
 * In which blocks the watcher saw transactions of ours, by their ids: what the gateway signs on a chain with outputs spends
 * UTXOs of its own, and most of it pays change.
 */
export async function listSpendHeights(
  db: Queryable,
  chain: ChainName,
  txids: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ txid: string; height: bigint }>(
    `select spent_by as txid, spent_height as height from utxos where chain = $1 and spent_by = any($2)
     union
     select txid, block_height from utxos where chain = $1 and txid = any($2) and block_height is not null`,
    [chain, txids],
  )
  return new Map(rows.map(({ txid, height }) => [txid, Number(height)]))
}

/** UTXOs that a search of the chain found and no block showed here. @returns How many were not known. */
export const recordFoundUtxos = (
  tx: Tx,
  chain: ChainName,
  utxos: readonly {
    readonly txid: string
    readonly index: number
    readonly lookup: Uint8Array
    readonly atoms: bigint
    readonly height: number
    readonly isCoinbase: boolean
  }[],
): Promise<number> =>
  countRows(
    tx,
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height, is_coinbase)
     select $1::text, * from unnest($2::text[], $3::integer[], $4::bytea[], $5::numeric[], $6::bigint[], $7::boolean[])
     on conflict do nothing`,
    [
      chain,
      ...arraysOf(utxos, 'txid', 'index'),
      utxos.map((utxo) => Buffer.from(utxo.lookup)),
      ...arraysOf(utxos, 'atoms', 'height', 'isCoinbase'),
    ],
  )

/** SQL: a block shows UTXO `c`, or it is change that comes. What was displaced, or can not be, leaves its row behind. */
const IS_OR_COMES = `(c.block_height is not null or exists (
  select from signed_transactions s where s.chain = c.chain and s.txid = c.txid and ${comingSql('s')}))`

/**
 * What the UTXOs of a series hold that nothing was signed for, the largest first: those too that wait for their depth, and
 * change that no block shows yet. None of less than `least`.
 */
export async function listUtxoAtoms(
  db: Queryable,
  of: { readonly chain: ChainName; readonly series: string; readonly least: bigint; readonly limit: number },
): Promise<bigint[]> {
  const { rows } = await db.query<{ atoms: bigint }>(
    `select c.atoms from utxos c ${ADDRESS_OF_UTXO}
     where c.chain = $1 and c.spent_by is null and c.reserved_by is null and a.series = $2 and c.atoms >= $3 and ${IS_OR_COMES}
     order by c.atoms desc limit $4`,
    [of.chain, of.series, of.least, of.limit],
  )
  return rows.map((row) => row.atoms)
}

/** The sum of them all, however small. */
export async function sumUtxos(
  db: Queryable,
  of: { readonly chain: ChainName; readonly series: string },
): Promise<bigint> {
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(c.atoms), 0) as atoms from utxos c ${ADDRESS_OF_UTXO}
     where c.chain = $1 and c.spent_by is null and c.reserved_by is null and a.series = $2 and ${IS_OR_COMES}`,
    [of.chain, of.series],
  )
  return rows[0]?.atoms ?? 0n
}
