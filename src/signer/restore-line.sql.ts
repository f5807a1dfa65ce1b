/** What the signer's journal knows as sent and the database has forgotten, put back. */
import type { ChainName } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import { type AccountId, newRowId, type WithdrawalId } from '../core/ids.ts'
import type { Database, Queryable, Tx } from '../db/database.ts'
import type { SignedEntry } from './journal.ts'
import {
  accountsOf,
  type ChangePlace,
  expectChange,
  idsOf,
  insertSigned,
  isTaken,
  Taken,
} from './place.sql.ts'

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

/** Of lines as the journal knows them, those whose first transaction the database knows and not all of the others. */
export async function listForgotten<Line extends readonly (readonly [ChainName, string])[]>(
  db: Queryable,
  lines: readonly Line[],
): Promise<Line[]> {
  const members = lines.flatMap((line, index) =>
    line.map(([chain, txid], place) => ({ index, place, chain, txid })),
  )
  const { rows } = await db.query<{ index: number }>(
    `select m.index from unnest($1::integer[], $2::integer[], $3::text[], $4::text[]) as m (index, place, chain, txid)
     left join signed_transactions t on t.chain = m.chain and t.txid = m.txid
     group by m.index
     having bool_or(t.txid is null) and bool_or(t.txid is not null and m.place = 0)`,
    [
      members.map(({ index }) => index),
      members.map(({ place }) => place),
      members.map(({ chain }) => chain),
      members.map(({ txid }) => txid),
    ],
  )
  return rows.flatMap(({ index }) => lines.slice(index, index + 1))
}

/**
 * Puts back a line, or what is missing of one, that the journal knows as sent and the database does not: it was restored
 * from a backup, or tampered with. The chain may have taken it long ago, so neither spent coins nor used nonces speak
 * against it; something else that was signed for the same withdrawals, coins or nonce does.
 *
 * @returns False when it cannot be put back.
 */
export async function restoreLine(
  db: Database,
  entries: readonly SignedEntry[],
  changeOf: (entry: SignedEntry) => ChangePlace | null,
): Promise<boolean> {
  const [opening] = entries
  invariant(opening && opening.txid === opening.line, 'a line begins with the transaction that names it')
  try {
    await db.transaction((tx) => restoreIn(tx, opening, entries, changeOf))
    return true
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
}

async function restoreIn(
  tx: Tx,
  opening: SignedEntry,
  entries: readonly SignedEntry[],
  changeOf: (entry: SignedEntry) => ChangePlace | null,
): Promise<void> {
  const { chain, line, sender, nonce } = opening
  // Withdrawals of its batch that were requested after the backup are gone: the proof of the books shows what they took.
  const { rows: paid } = await tx.query<{ account_id: AccountId; id: WithdrawalId }>(
    `select account_id, id from withdrawals where (account_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))
       and status = 'requested' order by account_id, id for update`,
    [accountsOf(opening), idsOf(opening)],
  )
  // Where no row is, the chain has to be asked what else was sent before anything new is signed.
  if (sender !== null)
    await tx.query(
      'update nonces set next = greatest(next, $3::bigint + 1) where chain = $1 and sender = $2',
      [chain, sender, nonce],
    )
  for (const entry of entries) {
    await insertSigned(tx, entry)
    const { rowCount: taken } = await tx.query(
      `select from coins c join unnest($3::text[], $4::integer[]) as spent (txid, output_index) using (txid, output_index)
       where c.chain = $1 and c.reserved_by <> $2 limit 1`,
      [chain, line, entry.spends.map((coin) => coin.txid), entry.spends.map((coin) => coin.index)],
    )
    if (taken > 0) throw new Taken()
    await tx.query(
      `update coins c set reserved_by = $2, reserved_first_by = coalesce(reserved_first_by, $5)
       from unnest($3::text[], $4::integer[]) as spent (txid, output_index)
       where c.chain = $1 and c.txid = spent.txid and c.output_index = spent.output_index`,
      [
        chain,
        line,
        entry.spends.map((coin) => coin.txid),
        entry.spends.map((coin) => coin.index),
        entry.txid,
      ],
    )
    // Blocks up to our view hold it where they spend its coins, or do not hold it.
    await tx.query(
      `update signed_transactions t set since_height = coalesce(
         (select min(c.spent_height) from coins c where c.chain = $1 and c.spent_by = $2), v.tip_height)
       from chains v where v.chain = $1 and t.chain = $1 and t.txid = $2`,
      [chain, entry.txid],
    )
    const change = changeOf(entry)
    if (entry.change && change) await expectChange(tx, entry, entry.change, change)
  }
  await tx.query(
    `insert into signed_payouts (account_id, withdrawal_id, chain, line)
     select account_id, id, $3, $4 from unnest($1::uuid[], $2::uuid[]) as paid (account_id, id)
     where not exists (select from signed_payouts s where s.account_id = paid.account_id
       and s.withdrawal_id = paid.id and s.chain = $3 and s.line = $4)`,
    [paid.map((row) => row.account_id), paid.map((row) => row.id), chain, line],
  )
  await restoreSweeps(tx, opening)
  await raiseRestored(tx, opening)
}

/**
 * What the line was signed for besides payouts. A sweep that was planned after the backup is known by its own transaction; of
 * a batch or of gas nothing more is needed than that they are ours: what they moved is read from their blocks.
 */
async function restoreSweeps(tx: Tx, opening: SignedEntry): Promise<void> {
  const { chain, line, kind, sweep, sender, asset, valueAtoms, batch, deploys } = opening
  if (kind === 'gas' && sweep)
    await tx.query(
      `update sweeps set status = 'funding', gas_line = $3 where chain = $1 and id = $2 and status = 'planned'`,
      [chain, sweep, line],
    )
  if (kind === 'sweep' && sweep) {
    // The worker may have planned another already. What that was to take is free again: the line may have moved less.
    await tx.query(
      `with gone as (
         delete from sweeps where chain = $1 and address = $2 and id <> $3 and status = 'planned' returning address, asset
       ), gas as (
         update gas_funding g set collected = false from gone
         where g.chain = $1 and g.address = gone.address and gone.asset = 'ETH' and g.collected
       )
       update deposits d set swept = false from gone
       where d.chain = $1 and d.address = gone.address and d.asset = gone.asset and d.swept`,
      [chain, sender, sweep],
    )
    await tx.query(
      `insert into sweeps (chain, id, address, series, position, asset, atoms, status, line)
       select a.chain, $3, a.address, a.series, a.position, $4, $5, 'sweeping', $6
       from addresses a where a.chain = $1 and a.lookup = decode(substr($2, 3), 'hex')
       on conflict (chain, id) do update set status = 'sweeping', line = excluded.line
         where sweeps.status in ('planned', 'funding', 'funded')`,
      [chain, sender, sweep, asset, valueAtoms, line],
    )
  }
  if (batch) {
    await tx.query(
      `update sweeps set status = 'sweeping', line = $3 where chain = $1 and id = any($2::uuid[]) and status = 'planned'`,
      [chain, batch.sweeps, line],
    )
    await tx.query(
      `insert into nonces as n (chain, sender, next)
       select $1, address, nonce + 1 from unnest($2::text[], $3::bigint[]) as authority (address, nonce)
       on conflict (chain, sender) do update set next = greatest(n.next, excluded.next)`,
      [chain, batch.authorities.map(({ address }) => address), batch.authorities.map((of) => of.nonce)],
    )
  }
  if (deploys)
    await tx.query(
      `insert into sweep_delegates (chain, address, line) values ($1, $2, $3)
       on conflict (chain, address) do update set line = excluded.line`,
      [chain, deploys, line],
    )
}

/** What was sent and forgotten is for the operator to look at, whatever becomes of it. */
async function raiseRestored(tx: Tx, { chain, line }: SignedEntry): Promise<void> {
  await tx.query(
    `insert into alerts (id, kind, subject, message) values ($1, 'signed_transaction_restored', $2, $3)
     on conflict (kind, subject) do nothing`,
    [
      newRowId(),
      `${chain}:${line}`,
      `the database had lost the signed transaction ${line} of ${chain}; the signer put it back from its journal`,
    ],
  )
}
