/**
 * Placing: the rows of a journaled transaction enter the database in one transaction, or never. Its bytes follow when it
 * is released, and it is released once the journal says that it was placed: so what the journal does not know as placed
 * was never sent, and nobody, not even the database's owner, has seen the bytes of what is void. All of it can be repeated
 * after any crash and any lost answer.
 */
import type { ChainName } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import type { AccountId, WithdrawalId } from '../core/ids.ts'
import { type Database, type Queryable, sqlState, type Tx } from '../db/database.ts'
import type { SignedEntry } from './journal.ts'

/** `taken`: what it needs was given to another transaction, or what it pays is no longer payable. */
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
    if (isTaken(error)) return 'taken'
    throw error
  }
}

/** Whether an error says that what a line needs is another one's. */
export const isTaken = (error: unknown): boolean =>
  error instanceof Taken || sqlState(error) === UNIQUE_VIOLATION

const UNIQUE_VIOLATION = '23505'

export class Taken extends Error {
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
  // A bump pays what its line pays, in a restored database too that has forgotten some of it.
  if (opensLine && payable !== entry.withdrawals.length) throw new Taken()
  if (!opensLine) await lockOpenLine(tx, entry)
  if (entry.nonce !== null && opensLine) {
    const { rowCount } = await tx.query(
      'update nonces set next = next + 1 where chain = $1 and sender = $2 and next = $3',
      [chain, entry.sender, entry.nonce],
    )
    if (rowCount !== 1) throw new Taken()
  }
  await insertSigned(tx, entry)
  if (opensLine && entry.withdrawals.length > 0)
    await tx.query(
      `insert into signed_payouts (account_id, withdrawal_id, chain, line)
       select account_id, id, $3, $4 from unnest($1::uuid[], $2::uuid[]) as paid (account_id, id)`,
      [accountsOf(entry), idsOf(entry), chain, line],
    )
  await reserveCoins(tx, entry)
  if (opensLine && entry.sweep) await advanceSweep(tx, entry, entry.sweep)
  if (opensLine && entry.batch) await advanceBatch(tx, entry, entry.batch)
  if (opensLine && entry.deploys) await takeDeployment(tx, entry, entry.deploys)
  if (entry.change && change) await expectChange(tx, entry, entry.change, change)
  crashPoint('signer:placing')
  return 'placed'
}

/** Without its bytes, and not to be sent yet. */
export async function insertSigned(tx: Tx, entry: SignedEntry): Promise<void> {
  await tx.query(
    `insert into signed_transactions (chain, txid, line, kind, asset, value_atoms, sender, nonce, fee_atoms, fee_rate,
       created_at, send_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp(), 'infinity')
     on conflict (chain, txid) do nothing`,
    [
      entry.chain,
      entry.txid,
      entry.line,
      entry.kind,
      entry.asset,
      entry.valueAtoms,
      entry.sender,
      entry.nonce,
      entry.feeAtoms,
      entry.feeRate,
    ],
  )
}

/** Gives the bytes of a placed transaction to the worker. To be called only when the journal knows it as placed. */
export async function release(
  db: Queryable,
  { chain, txid, raw }: Pick<SignedEntry, 'chain' | 'txid' | 'raw'>,
): Promise<void> {
  await db.query(
    `update signed_transactions set raw = $3, send_at = now()
     where chain = $1 and txid = $2 and send_at = 'infinity'`,
    [chain, txid, raw],
  )
}

/** Placed, and not given to the worker: by a signer that died in between, or by another one at this moment. */
export async function listUnreleased(db: Queryable): Promise<{ chain: ChainName; txid: string }[]> {
  const { rows } = await db.query<{ chain: ChainName; txid: string }>(
    `select chain, txid from signed_transactions where send_at = 'infinity'`,
  )
  return rows
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
async function reserveCoins(tx: Tx, { chain, txid, line, spends }: SignedEntry): Promise<void> {
  if (spends.length === 0) return
  const { rowCount } = await tx.query(
    `with wanted as (
       select c.chain, c.txid, c.output_index from coins c
       join unnest($3::text[], $4::integer[]) as spent (txid, output_index) using (txid, output_index)
       where c.chain = $1 and c.spent_by is null and (c.reserved_by is null or c.reserved_by = $2)
       order by c.txid, c.output_index for update of c
     )
     update coins set reserved_by = $2, reserved_first_by = coalesce(reserved_first_by, $5) from wanted
     where coins.chain = wanted.chain and coins.txid = wanted.txid and coins.output_index = wanted.output_index`,
    [chain, line, spends.map((coin) => coin.txid), spends.map((coin) => coin.index), txid],
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

/** Each of its sweeps is swept once, and each authorisation uses the nonce of its address, as the chain will. */
async function advanceBatch(
  tx: Tx,
  { chain, line }: SignedEntry,
  { sweeps, authorities }: NonNullable<SignedEntry['batch']>,
): Promise<void> {
  const { rowCount: advanced } = await tx.query(
    `update sweeps set status = 'sweeping', line = $3
     where chain = $1 and id = any($2::uuid[]) and status = 'planned' and way = 'batch'`,
    [chain, sweeps, line],
  )
  const { rowCount: used } = await tx.query(
    `update nonces n set next = n.next + 1 from unnest($2::text[], $3::bigint[]) as authority (address, nonce)
     where n.chain = $1 and n.sender = authority.address and n.next = authority.nonce`,
    [chain, authorities.map(({ address }) => address), authorities.map(({ nonce }) => nonce)],
  )
  if (advanced !== sweeps.length || used !== authorities.length) throw new Taken()
}

async function takeDeployment(tx: Tx, { chain, line }: SignedEntry, address: string): Promise<void> {
  const { rowCount } = await tx.query(
    'update sweep_delegates set line = $3 where chain = $1 and address = $2 and line is null',
    [chain, address, line],
  )
  if (rowCount !== 1) throw new Taken()
}

/** The change is known before any block shows it; it is spendable once one does. */
export async function expectChange(
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

export const accountsOf = (entry: SignedEntry): AccountId[] =>
  entry.withdrawals.map((name) => name.split('/')[0] as AccountId)
export const idsOf = (entry: SignedEntry): WithdrawalId[] =>
  entry.withdrawals.map((name) => name.split('/')[1] as WithdrawalId)
