/** Rows of what the signer signed: written before anything is sent, given their bytes when the journal knows of it. */
import type { ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows, anyRow } from '../db/rows.ts'
import type {
  BatchEntry,
  Change,
  DeployEntry,
  OutputsEntry,
  PaidWithdrawal,
  SignedEntry,
  SweepEntry,
} from './signed-entry.ts'
import { openSql } from './signed-transaction.ts'

/** What a replacement set needs is another one's. */
export class Taken extends Error {
  override readonly name = 'Taken'
}

export const isKnown = (db: Queryable, chain: ChainName, txid: string): Promise<boolean> =>
  anyRow(db, 'select from signed_transactions where chain = $1 and txid = $2', [chain, txid])

/** Without its bytes, and not to be sent yet. What is there already stays as it is. */
export async function insertSigned(
  tx: Tx,
  entry: SignedEntry,
  status: 'placed' | 'recovered',
): Promise<void> {
  const { sender, nonce } = entry.purpose === 'outputs' ? { sender: null, nonce: null } : entry
  await tx.query(
    `insert into signed_transactions (chain, txid, replacement_set, kind, status, asset, value_atoms, sender, nonce, fee_atoms, fee_rate,
       created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp())
     on conflict (chain, txid) do nothing`,
    [
      entry.chain,
      entry.txid,
      entry.replacementSet,
      entry.kind,
      status,
      entry.asset,
      entry.valueAtoms,
      sender,
      nonce,
      entry.feeAtoms,
      entry.feeRate,
    ],
  )
}

/** Gives the bytes of a placed transaction to the worker. To be called only when the journal knows it as placed. */
export async function markReady(
  db: Queryable,
  { chain, txid, raw }: Pick<SignedEntry, 'chain' | 'txid' | 'raw'>,
): Promise<void> {
  await db.query(
    `update signed_transactions set status = 'ready', raw = $3, send_at = now()
     where chain = $1 and txid = $2 and status in ('placed', 'recovered')`,
    [chain, txid, raw],
  )
}

/** Not given to the worker: by a signer that died before it did, by another one at this moment, or forgotten. */
export const listPlaced = (db: Queryable): Promise<{ chain: ChainName; txid: string }[]> =>
  allRows(db, `select chain, txid from signed_transactions where status in ('placed', 'recovered')`)

/**
 * A bump joins a replacement set of which no transaction is in a block, and ends the wish for it. Locks the set in the order
 * of its txids.
 */
export async function lockOpenSet(tx: Tx, { chain, replacementSet }: SignedEntry): Promise<void> {
  const { rows } = await tx.query<{ is_open: boolean }>(
    `select ${openSql('t')} and block_height is null as is_open from signed_transactions t
     where chain = $1 and replacement_set = $2 order by txid for update`,
    [chain, replacementSet],
  )
  if (rows.length === 0 || rows.some((row) => !row.is_open)) throw new Taken()
  await tx.query(
    'update signed_transactions set bump_wanted = false where chain = $1 and replacement_set = $2',
    [chain, replacementSet],
  )
}

/** Nonces are used in their order, each by one replacement set. */
export async function takeNonce(
  tx: Tx,
  { chain, sender, nonce }: { readonly chain: ChainName; readonly sender: string; readonly nonce: string },
): Promise<void> {
  const { rowCount } = await tx.query(
    'update nonces set next = next + 1 where chain = $1 and sender = $2 and next = $3',
    [chain, sender, nonce],
  )
  if (rowCount !== 1) throw new Taken()
}

/** From now on this set pays them, and no other ever does. */
export async function insertPayouts(
  tx: Tx,
  { chain, replacementSet }: Pick<SignedEntry, 'chain' | 'replacementSet'>,
  paid: readonly PaidWithdrawal[],
): Promise<void> {
  if (paid.length === 0) return
  await tx.query(
    `insert into signed_payouts (account_id, withdrawal_id, chain, replacement_set)
     select account_id, id, $3, $4 from unnest($1::uuid[], $2::uuid[]) as paid (account_id, id)`,
    [...arraysOf(paid, 'accountId', 'id'), chain, replacementSet],
  )
}

/** UTXOs are free, or belong to this set already; spent ones are gone. Locks them in the order of their outpoints. */
export async function reserveUtxos(
  tx: Tx,
  { chain, txid, replacementSet, spends }: OutputsEntry,
): Promise<void> {
  if (spends.length === 0) return
  const { rowCount } = await tx.query(
    `with wanted as (
       select c.chain, c.txid, c.output_index from utxos c
       join unnest($3::text[], $4::integer[]) as spent (txid, output_index) using (txid, output_index)
       where c.chain = $1 and c.spent_by is null and (c.reserved_by is null or c.reserved_by = $2)
       order by c.txid, c.output_index for update of c
     )
     update utxos set reserved_by = $2, reserved_first_by = coalesce(reserved_first_by, $5) from wanted
     where utxos.chain = wanted.chain and utxos.txid = wanted.txid and utxos.output_index = wanted.output_index`,
    [chain, replacementSet, ...arraysOf(spends, 'txid', 'index'), txid],
  )
  if (rowCount !== spends.length) throw new Taken()
}

/** The change is known before any block shows it; it is spendable once one does. */
export async function expectChange(
  tx: Tx,
  { chain, txid }: OutputsEntry,
  change: Change,
  script: Uint8Array,
): Promise<void> {
  await tx.query(
    `insert into utxos (chain, txid, output_index, lookup, atoms) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [chain, txid, change.index, script, change.atoms],
  )
}

/** A sweep is funded once, and swept once. */
export async function advanceSweep(
  tx: Tx,
  { chain, kind, replacementSet, sweep }: SweepEntry,
): Promise<void> {
  const { rowCount } = await tx.query(
    kind === 'gas'
      ? `update sweeps set status = 'funding', gas_replacement_set = $3 where chain = $1 and id = $2 and status = 'planned'`
      : `update sweeps set status = 'sweeping', replacement_set = $3 where chain = $1 and id = $2 and status in ('planned', 'funded')`,
    [chain, sweep, replacementSet],
  )
  if (rowCount !== 1) throw new Taken()
}

/** Each of its sweeps is swept once, and each authorisation uses the nonce of its address, as the chain will. */
export async function advanceBatch(tx: Tx, { chain, replacementSet, batch }: BatchEntry): Promise<void> {
  const { sweeps, authorities } = batch
  const { rowCount: advanced } = await tx.query(
    `update sweeps set status = 'sweeping', replacement_set = $3
     where chain = $1 and id = any($2::uuid[]) and status = 'planned' and way = 'batch'`,
    [chain, sweeps, replacementSet],
  )
  const { rowCount: used } = await tx.query(
    `update nonces n set next = n.next + 1 from unnest($2::text[], $3::bigint[]) as authority (address, nonce)
     where n.chain = $1 and n.sender = authority.address and n.next = authority.nonce`,
    [chain, ...arraysOf(authorities, 'address', 'nonce')],
  )
  if (advanced !== sweeps.length || used !== authorities.length) throw new Taken()
}

export async function takeDeployment(tx: Tx, { chain, replacementSet, deploys }: DeployEntry): Promise<void> {
  const { rowCount } = await tx.query(
    'update sweep_delegates set replacement_set = $3 where chain = $1 and address = $2 and replacement_set is null',
    [chain, deploys, replacementSet],
  )
  if (rowCount !== 1) throw new Taken()
}
