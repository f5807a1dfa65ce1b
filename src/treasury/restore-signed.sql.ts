/** What the signer's journal knows as sent and the database has forgotten, put back. */
import type { ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { Taken } from './place-signed.sql.ts'
import type { BatchEntry, DeployEntry, OutputsEntry, SignedEntry, SweepEntry } from './signed-entry.ts'
import { openSql } from './signed-transaction.ts'

/** Those of the transactions that the database does not know. */
export async function listUnknown(
  db: Queryable,
  chain: ChainName,
  txids: readonly string[],
): Promise<string[]> {
  const { rows } = await db.query<{ txid: string }>(
    `select txid from unnest($2::text[]) with ordinality as wanted (txid, number)
     where not exists (select from signed_transactions s where s.chain = $1 and s.txid = wanted.txid) order by number`,
    [chain, txids],
  )
  return rows.map((row) => row.txid)
}

/** Of replacement sets as the journal knows them, those whose first transaction the database knows and not all others. */
export async function listForgotten(db: Queryable, sets: readonly SignedEntry[][]): Promise<SignedEntry[][]> {
  const members = sets.flatMap((set, index) =>
    set.map(({ chain, txid }, position) => ({ index, position, chain, txid })),
  )
  const { rows } = await db.query<{ index: number }>(
    `select m.index from unnest($1::integer[], $2::integer[], $3::text[], $4::text[]) as m (index, position, chain, txid)
     left join signed_transactions t on t.chain = m.chain and t.txid = m.txid
     group by m.index
     having bool_or(t.txid is null) and bool_or(t.txid is not null and m.position = 0)`,
    arraysOf(members, 'index', 'position', 'chain', 'txid'),
  )
  return rows.flatMap(({ index }) => sets.slice(index, index + 1))
}

/** Where no row is, the chain has to be asked what else was sent before anything new is signed. */
export async function raiseUsedNonce(
  tx: Tx,
  { chain, sender, nonce }: { readonly chain: ChainName; readonly sender: string; readonly nonce: string },
): Promise<void> {
  await tx.query('update nonces set next = greatest(next, $3::bigint + 1) where chain = $1 and sender = $2', [
    chain,
    sender,
    nonce,
  ])
}

/**
 * Its UTXOs, spent ones too: the chain may have taken it long ago. Another set's are not given to it.
 *
 * @returns Whether all of them are there: what the watcher has not read again yet is not.
 */
export async function takeUtxosBack(
  tx: Tx,
  { chain, txid, replacementSet, spends }: OutputsEntry,
): Promise<boolean> {
  const outpoints = arraysOf(spends, 'txid', 'index')
  const { rows } = await tx.query<{ by: string | null }>(
    `select c.reserved_by as by from utxos c
     join unnest($2::text[], $3::integer[]) as spent (txid, output_index) using (txid, output_index) where c.chain = $1`,
    [chain, ...outpoints],
  )
  if (rows.some(({ by }) => by !== null && by !== replacementSet)) throw new Taken()
  const isWhole = rows.length === spends.length
  if (rows.every(({ by }) => by !== null)) return isWhole
  await tx.query(
    `update utxos c set reserved_by = $2, reserved_first_by = coalesce(reserved_first_by, $5)
     from unnest($3::text[], $4::integer[]) as spent (txid, output_index)
     where c.chain = $1 and c.txid = spent.txid and c.output_index = spent.output_index`,
    [chain, replacementSet, ...outpoints, txid],
  )
  return isWhole
}

/** Replacement sets that may still enter a chain, or whose block is not deep. */
export const listOpenSets = (db: Queryable, chain: ChainName): Promise<{ replacementSet: string }[]> =>
  allRows(
    db,
    `select distinct replacement_set as "replacementSet" from signed_transactions t where chain = $1 and ${openSql('t')}`,
    [chain],
  )

/** Locks a replacement set in the order of its txids. @returns Whether none of it has ended. */
export async function lockIfOpen(
  tx: Tx,
  { chain, replacementSet }: Pick<SignedEntry, 'chain' | 'replacementSet'>,
): Promise<boolean> {
  const { rows } = await tx.query<{ is_open: boolean }>(
    `select ${openSql('t')} as is_open from signed_transactions t where chain = $1 and replacement_set = $2
     order by txid for update`,
    [chain, replacementSet],
  )
  return rows.every((row) => row.is_open)
}

/** Blocks up to our tip hold it where they spend its UTXOs, or do not hold it. */
export async function searchFromTip(tx: Tx, chain: ChainName, txid: string): Promise<void> {
  await tx.query(
    `update signed_transactions t set since_height = coalesce(
       (select min(c.spent_height) from utxos c where c.chain = $1 and c.spent_by = $2), v.tip_height)
     from chains v where v.chain = $1 and t.chain = $1 and t.txid = $2`,
    [chain, txid],
  )
}

/** Those of the withdrawals that the set is not known to pay yet. */
export async function listNotKnownAsPaid<Paid extends { accountId: string; id: string }>(
  tx: Tx,
  { chain, replacementSet }: Pick<SignedEntry, 'chain' | 'replacementSet'>,
  paid: readonly Paid[],
): Promise<Paid[]> {
  const { rows } = await tx.query<{ id: string }>(
    `select withdrawal_id as id from signed_payouts where chain = $1 and replacement_set = $2`,
    [chain, replacementSet],
  )
  const known = new Set(rows.map(({ id }) => id))
  return paid.filter(({ id }) => !known.has(id))
}

/**
 * What the set was signed for besides payouts. A sweep that was planned after the backup is known by its own transaction; of
 * a batch or of gas nothing more is needed than that they are ours: what they moved is read from their blocks.
 */
export async function restoreSweep(tx: Tx, opening: SweepEntry): Promise<void> {
  const { chain, replacementSet, sweep, sender, asset, valueAtoms, feeAtoms } = opening
  if (opening.purpose === 'gas') {
    await tx.query(
      `update sweeps set status = 'funding', gas_replacement_set = $3 where chain = $1 and id = $2 and status = 'planned'`,
      [chain, sweep, replacementSet],
    )
    return
  }
  // The worker may have planned another already. What that was to take is free again: the set may have moved less.
  await tx.query(`delete from sweeps where chain = $1 and address = $2 and id <> $3 and status = 'planned'`, [
    chain,
    sender,
    sweep,
  ])
  await tx.query(
    `insert into sweeps (chain, id, address, series, position, asset, atoms, status, replacement_set)
     select a.chain, $3, a.address, a.series, a.position, $4, $5, 'sweeping', $6
     from addresses a where a.chain = $1 and a.lookup = decode(substr($2, 3), 'hex')
     on conflict (chain, id) do update set status = 'sweeping', replacement_set = excluded.replacement_set
       where sweeps.status in ('planned', 'funding', 'funded')`,
    [
      chain,
      sender,
      sweep,
      asset,
      BigInt(valueAtoms) + (asset === 'ETH' ? BigInt(feeAtoms) : 0n),
      replacementSet,
    ],
  )
}

export async function restoreBatch(tx: Tx, { chain, replacementSet, batch }: BatchEntry): Promise<void> {
  await tx.query(
    `update sweeps set status = 'sweeping', replacement_set = $3 where chain = $1 and id = any($2::uuid[]) and status = 'planned'`,
    [chain, batch.sweeps, replacementSet],
  )
  await tx.query(
    `insert into nonces as n (chain, sender, next)
     select $1, address, nonce + 1 from unnest($2::text[], $3::bigint[]) as authority (address, nonce)
     on conflict (chain, sender) do update set next = greatest(n.next, excluded.next)`,
    [chain, ...arraysOf(batch.authorities, 'address', 'nonce')],
  )
}

export async function restoreDeployment(
  tx: Tx,
  { chain, replacementSet, deploys }: DeployEntry,
): Promise<void> {
  await tx.query(
    `insert into sweep_delegates (chain, address, replacement_set) values ($1, $2, $3)
     on conflict (chain, address) do update set replacement_set = excluded.replacement_set`,
    [chain, deploys, replacementSet],
  )
}
