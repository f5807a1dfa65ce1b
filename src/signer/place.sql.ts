/**
 * Placing: the rows of a journaled transaction enter the database in one transaction, or never. It is the moment from
 * which the worker may send it; it can be repeated after any crash and any lost answer.
 */
import type { AccountId, WithdrawalId } from '../core/ids.ts'
import { type Database, sqlState, type Tx } from '../db/database.ts'
import type { SignedEntry } from './journal.ts'

/**
 * `taken`: what it needs was given to another transaction, or what it pays is no longer payable. Nobody but this process
 * has seen its bytes, unless it was placed once before.
 */
export type Placing = 'placed' | 'taken'

/** Where change of a placed transaction goes. */
export interface ChangePlace {
  readonly series: string
  readonly script: Uint8Array
}

/**
 * Locks, in this order: the withdrawals it pays by their keys, its line, its nonce, its coins. Whoever signs for the
 * same withdrawals waits at the first of them and finds them taken.
 */
export async function place(db: Database, entry: SignedEntry, change: ChangePlace | null): Promise<Placing> {
  try {
    return await db.transaction((tx) => placeIn(tx, entry, change), {
      ifCommitted: async (after) => {
        const { rowCount } = await after.query(
          'select from signed_transactions where chain = $1 and txid = $2',
          [entry.chain, entry.txid],
        )
        return rowCount > 0 ? 'placed' : undefined
      },
    })
  } catch (error) {
    if (error instanceof Taken || sqlState(error) === UNIQUE_VIOLATION) return 'taken'
    throw error
  }
}

const UNIQUE_VIOLATION = '23505'

class Taken extends Error {
  override readonly name = 'Taken'
}

async function placeIn(tx: Tx, entry: SignedEntry, change: ChangePlace | null): Promise<Placing> {
  const { chain, txid, line } = entry
  const opensLine = line === txid
  const { rowCount: payable } = await tx.query(
    `select from withdrawals where (account_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))
       and ($3 or (status = 'requested' and refused_reason is null))
     order by account_id, id for update`,
    [accountsOf(entry), idsOf(entry), !opensLine],
  )
  const { rowCount: known } = await tx.query(
    'select from signed_transactions where chain = $1 and txid = $2',
    [chain, txid],
  )
  if (known > 0) return 'placed'
  if (payable !== entry.withdrawals.length) throw new Taken()
  if (!opensLine) await lockOpenLine(tx, entry)
  if (entry.nonce !== null && opensLine) {
    const { rowCount } = await tx.query(
      'update nonces set next = next + 1 where chain = $1 and sender = $2 and next = $3',
      [chain, entry.sender, entry.nonce],
    )
    if (rowCount !== 1) throw new Taken()
  }
  await tx.query(
    `insert into signed_transactions (chain, txid, line, kind, raw, asset, value_atoms, sender, nonce, fee_atoms, fee_rate, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp())`,
    [
      chain,
      txid,
      line,
      entry.kind,
      entry.raw,
      entry.asset,
      entry.valueAtoms,
      entry.sender,
      entry.nonce,
      entry.feeAtoms,
      entry.feeRate,
    ],
  )
  if (opensLine && entry.withdrawals.length > 0)
    await tx.query(
      `insert into signed_payouts (account_id, withdrawal_id, chain, line)
       select account_id, id, $3, $4 from unnest($1::uuid[], $2::uuid[]) as paid (account_id, id)`,
      [accountsOf(entry), idsOf(entry), chain, line],
    )
  await reserveCoins(tx, entry)
  if (opensLine && entry.sweep) await advanceSweep(tx, entry, entry.sweep)
  if (entry.change && change) await expectChange(tx, entry, entry.change, change)
  return 'placed'
}

/** A bump joins a line of which no transaction is in a block, and ends the wish for it. */
async function lockOpenLine(tx: Tx, { chain, line }: SignedEntry): Promise<void> {
  const { rows } = await tx.query<{ is_open: boolean }>(
    `select outcome is null and block_height is null as is_open from signed_transactions
     where chain = $1 and line = $2 order by txid for update`,
    [chain, line],
  )
  if (rows.length === 0 || rows.some((row) => !row.is_open)) throw new Taken()
  await tx.query('update signed_transactions set bump_wanted = false where chain = $1 and line = $2', [
    chain,
    line,
  ])
}

/** Coins are free, or belong to this line already; spent ones are gone. */
async function reserveCoins(tx: Tx, { chain, line, spends }: SignedEntry): Promise<void> {
  if (spends.length === 0) return
  const { rowCount } = await tx.query(
    `with wanted as (
       select c.chain, c.txid, c.output_index from coins c
       join unnest($3::text[], $4::integer[]) as spent (txid, output_index) using (txid, output_index)
       where c.chain = $1 and c.spent_by is null and (c.reserved_by is null or c.reserved_by = $2)
       order by c.txid, c.output_index for update of c
     )
     update coins set reserved_by = $2 from wanted
     where coins.chain = wanted.chain and coins.txid = wanted.txid and coins.output_index = wanted.output_index`,
    [chain, line, spends.map((coin) => coin.txid), spends.map((coin) => coin.index)],
  )
  if (rowCount !== spends.length) throw new Taken()
}

/** A sweep is funded once, and swept once. */
async function advanceSweep(tx: Tx, { chain, kind, line }: SignedEntry, sweep: string): Promise<void> {
  const { rowCount } = await tx.query(
    kind === 'gas'
      ? `update sweeps set status = 'funding', gas_line = $3 where chain = $1 and id = $2 and status = 'planned'`
      : `update sweeps set status = 'sweeping', line = $3 where chain = $1 and id = $2 and status in ('planned', 'funded')`,
    [chain, sweep, line],
  )
  if (rowCount !== 1) throw new Taken()
}

/** The change is known before any block shows it; it is spendable once one does. */
async function expectChange(
  tx: Tx,
  { chain, txid }: SignedEntry,
  output: NonNullable<SignedEntry['change']>,
  { series, script }: ChangePlace,
): Promise<void> {
  await tx.query(
    `insert into coins (chain, txid, output_index, lookup, atoms) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [chain, txid, output.index, script, output.atoms],
  )
  await tx.query(
    'update wallets set next_change = greatest(next_change, $3::bigint + 1) where chain = $1 and series = $2',
    [chain, series, output.position],
  )
}

const accountsOf = (entry: SignedEntry): AccountId[] =>
  entry.withdrawals.map((name) => name.split('/')[0] as AccountId)
const idsOf = (entry: SignedEntry): WithdrawalId[] =>
  entry.withdrawals.map((name) => name.split('/')[1] as WithdrawalId)
