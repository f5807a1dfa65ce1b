/** UTXOs that the signer may spend: what each holds, and which key opens it. */
import type { ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { ADDRESS_OF_UTXO } from '../treasury/own-address.ts'
import { comingSql } from '../treasury/signed-transaction.ts'
import type { Branch } from '../wallets/derivation.ts'

export interface OwnedUtxo {
  readonly txid: string
  readonly index: number
  readonly atoms: bigint
  readonly script: Uint8Array
  readonly branch: Branch
  readonly position: bigint
}

/** Of UTXOs `c` and their addresses `a`. */
const COLUMNS = 'c.txid, c.output_index as index, c.atoms, c.lookup as script, a.branch, a.position'

/**
 * Coins of a series that may be spent now: deep enough in the chain, unspent, chosen by nobody. The largest first. One
 * block is enough for change of our own, coinbase outputs wait for a hundred.
 *
 * @param of.depositDepth - Blocks that what others sent waits for: of `depositDepth`.
 */
export const listSpendable = (
  db: Queryable,
  of: { chain: ChainName; series: string; depositDepth: number; limit: number },
): Promise<OwnedUtxo[]> =>
  allRows(
    db,
    `select ${COLUMNS}
     from utxos c
     ${ADDRESS_OF_UTXO}
     join chains v on v.chain = c.chain
     where c.chain = $1 and c.spent_by is null and c.reserved_by is null and a.series = $2
       and v.tip_height - c.block_height + 1 >= case
         when c.is_coinbase then 100
         when exists (select from signed_transactions s where s.chain = c.chain and s.txid = c.txid) then 1
         else $3::bigint end
     order by c.atoms desc, c.txid, c.output_index limit $4`,
    [of.chain, of.series, of.depositDepth, of.limit],
  )

/** Change of ours that no block shows yet. */
export async function sumExpectedChange(db: Queryable, chain: ChainName, series: string): Promise<bigint> {
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(c.atoms), 0) as atoms from signed_transactions t
     join utxos c on c.chain = t.chain and c.txid = t.txid and c.block_height is null and c.spent_by is null
       and c.reserved_by is null
     ${ADDRESS_OF_UTXO}
     where t.chain = $1 and a.series = $2 and t.block_height is null and ${comingSql('t')}`,
    [chain, series],
  )
  return rows[0]?.atoms ?? 0n
}

/** UTXOs that a replacement set may still spend, by their outpoints; fewer when some are unknown, spent or another set's. */
export const listUtxos = (
  db: Queryable,
  of: { chain: ChainName; series: string; replacementSet: string },
  outpoints: readonly { txid: string; index: number }[],
): Promise<OwnedUtxo[]> =>
  allRows(
    db,
    `select ${COLUMNS}
     from unnest($3::text[], $4::integer[]) with ordinality as outpoint (txid, output_index, number)
     join utxos c on c.chain = $1 and c.txid = outpoint.txid and c.output_index = outpoint.output_index
     ${ADDRESS_OF_UTXO}
     where a.series = $2 and c.spent_by is null and (c.reserved_by is null or c.reserved_by = $5) order by outpoint.number`,
    [of.chain, of.series, ...arraysOf(outpoints, 'txid', 'index'), of.replacementSet],
  )
