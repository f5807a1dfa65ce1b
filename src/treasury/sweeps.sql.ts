/** Sweeps: deposits on chains with accounts on their way to the hot wallet. */
import { randomUUID } from 'node:crypto'
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows, countRows } from '../db/rows.ts'
import { openSql } from './signed-transaction.ts'
import { wishBump } from './signed-transactions.sql.ts'
import { type EndingSweep, type SweepStatus, type SweepWay, sweepEnd } from './sweep.ts'
import { UNSWEPT_CAPITAL } from './unexpected-deposits.sql.ts'

export interface SweepCandidate {
  readonly address: string
  readonly series: string
  readonly position: bigint
  readonly asset: Asset
  /** Its booked deposits of the asset that no sweep has taken, unexpected ones among them. */
  readonly bookedAtoms: bigint
  /** Ether that it should hold by its booked deposits, what it was given as gas, and what it sent. */
  readonly etherAtoms: bigint
  /** What the two sums are made of: those deposits, unexpected ones by their outputs, and the transactions that brought gas. */
  readonly deposits: readonly string[]
  readonly unexpected: readonly string[]
  readonly gas: readonly string[]
  /**
   * The last sweep that moved this asset away from it, if any: a batch takes all there is, deposits that were not booked yet
   * included.
   */
  readonly lastSweep: string | null
}

/** Ether of address `x.address`, as above; our own transactions count from the block that holds them. */
export const ETHER_OF_ADDRESS =
  '(select e.booked_atoms + e.given_atoms - e.sent_atoms from ether_of($1, x.address) e)'

/**
 * No sweep of address `x.address` is under way, nor one whose block a reorganisation took after it had ended: it uses its nonces
 * again. After one that failed the next waits a day for each failure.
 */
const MAY_BE_SWEPT = `
  not exists (select from sweeps s where s.chain = $1 and s.address = x.address and (s.status not in ('done', 'failed')
    or exists (select from signed_transactions t where t.chain = s.chain and t.replacement_set = s.replacement_set and ${openSql('t')})))
  and coalesce((select max(s.created_at) + count(*) * interval '1 day' from sweeps s
    where s.chain = $1 and s.address = x.address and s.asset = $2 and s.status = 'failed'), now()) <= now()`

/**
 * Addresses with a booked deposit of at least so many atoms that no sweep has taken, unexpected or not, the largest deposits
 * first, and without a sweep under way; a token that blocks the address would otherwise cost gas for ever. For ether also those where
 * sweeps of tokens left enough of their gas: what was given is at least what is left, so the index tells who may have it.
 */
export const listSweepCandidates = (
  db: Queryable,
  chain: ChainName,
  of: { asset: Asset; atomsMin: bigint; gasLeftMin: bigint; limit: number },
): Promise<SweepCandidate[]> =>
  allRows(
    db,
    `select x.address, a.series, a.position, $2 as asset, ${ETHER_OF_ADDRESS} as "etherAtoms",
       coalesce(d.atoms, 0) + coalesce(u.atoms, 0) as "bookedAtoms", coalesce(d.ids, '{}') as deposits,
       coalesce(u.outputs, '{}') as unexpected,
       case when $2 = 'ETH' then array(select txid from gas_funding g where g.chain = $1 and g.address = x.address
         and g.sweep is null) else '{}' end as gas,
       (select s.id from sweeps s where s.chain = $1 and s.address = x.address and s.asset = $2 and s.status = 'done'
        order by s.created_at desc limit 1) as "lastSweep"
     from (
       select address, max(atoms) as largest from (
         (select address, amount_atoms as atoms from deposits x
          where chain = $1 and asset = $2 and booked and sweep is null and amount_atoms >= $3 and ${MAY_BE_SWEPT}
          order by amount_atoms desc limit $5)
         union all
         (select address, atoms from unexpected_deposits x
          where chain = $1 and asset = $2 and ${UNSWEPT_CAPITAL} and atoms >= $3 and ${MAY_BE_SWEPT}
          order by atoms desc limit $5)
         union all
         (select address, atoms from gas_funding x
          where chain = $1 and $2 = 'ETH' and sweep is null and atoms >= $4 and ${MAY_BE_SWEPT} and ${ETHER_OF_ADDRESS} >= $4
          order by atoms desc limit $5)
       ) as latest group by address
     ) x
     join addresses a on a.chain = $1 and a.lookup = decode(substr(x.address, 3), 'hex') and a.branch = 0
     -- Nobody here has the keys of a retired wallet.
     join wallets w on w.chain = $1 and w.series = a.series and w.retired_at is null
     left join lateral (select sum(amount_atoms) as atoms, array_agg(id::text) as ids from deposits
       where chain = $1 and address = x.address and asset = $2 and booked and sweep is null) d on true
     left join lateral (select sum(atoms) as atoms, array_agg(tx_key || ':' || output_index) as outputs from unexpected_deposits
       where chain = $1 and address = x.address and asset = $2 and ${UNSWEPT_CAPITAL}) u on true
     order by x.largest desc`,
    [chain, of.asset, of.atomsMin, of.gasLeftMin, of.limit],
  )

export interface SweepPlan extends Omit<SweepCandidate, 'bookedAtoms' | 'lastSweep'> {
  readonly atoms: bigint
  readonly way: SweepWay
  /** The address delegates to our contract already. */
  readonly delegates: boolean
}

/** Plans a sweep and marks what it takes. @returns False when the address has one under way. */
export async function planSweep(tx: Tx, chain: ChainName, plan: SweepPlan): Promise<boolean> {
  const id = await insertSweep(tx, chain, plan, 'planned')
  if (id === null) return false
  await markSwept(tx, chain, id, plan)
  return true
}

/** A sweep that would move nothing fails before it is signed: the next one waits as after one that cost its gas. */
export async function refuseSweep(
  tx: Tx,
  chain: ChainName,
  plan: Omit<SweepPlan, 'way' | 'delegates'>,
): Promise<void> {
  await insertSweep(tx, chain, { ...plan, way: 'alone', delegates: false }, 'failed')
}

async function insertSweep(
  tx: Tx,
  chain: ChainName,
  { address, series, position, asset, atoms, etherAtoms, way, delegates }: SweepPlan,
  status: SweepStatus,
): Promise<string | null> {
  const id = randomUUID()
  const { rowCount } = await tx.query(
    `insert into sweeps (chain, id, address, series, position, asset, atoms, ether_atoms, status, way, delegates)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing`,
    [chain, id, address, series, position, asset, atoms, etherAtoms, status, way, delegates],
  )
  return rowCount === 0 ? null : id
}

/**
 * Plans of sweeps that would move less than so many atoms, and that nothing was signed for: what they were to take waits for
 * another. Of it and the signer whoever comes first changes the row.
 *
 * @returns How many there were.
 */
export const takeBackSweeps = (
  db: Queryable,
  chain: ChainName,
  asset: Asset,
  atomsMin: bigint,
): Promise<number> =>
  countRows(db, `delete from sweeps where chain = $1 and asset = $2 and status = 'planned' and atoms < $3`, [
    chain,
    asset,
    atomsMin,
  ])

type Taken = Pick<SweepCandidate, 'address' | 'deposits' | 'unexpected' | 'gas'>

/**
 * A sweep takes, or took, just these of an address: what was booked since its sum was read waits for the next one. Locks the
 * deposits in no order: of an address there is one sweep at a time.
 */
export async function markSwept(
  db: Queryable,
  chain: ChainName,
  sweep: string,
  { address, deposits, unexpected, gas }: Taken,
): Promise<void> {
  await db.query(
    `with gas as (update gas_funding set sweep = $3 where chain = $1 and address = $2 and txid = any($5) and sweep is null),
     unexpected as (update unexpected_deposits set sweep = $3
       where chain = $1 and address = $2 and tx_key || ':' || output_index = any($6) and ${UNSWEPT_CAPITAL})
     update deposits set sweep = $3 where chain = $1 and address = $2 and id = any($4::uuid[]) and booked and sweep is null`,
    [chain, address, sweep, deposits, gas, unexpected],
  )
}

export interface SweptTokens {
  /** What `addresses.lookup` holds. */
  readonly from: Uint8Array
  readonly asset: Asset
  readonly atoms: bigint
}

/** What the block that holds a batch shows that it moved; in another block it may be something else. */
export async function recordSwept(
  tx: Tx,
  chain: ChainName,
  of: { readonly txid: string; readonly replacementSet: string },
  moved: readonly SweptTokens[],
): Promise<void> {
  await tx.query('delete from swept_tokens where chain = $1 and txid = $2', [chain, of.txid])
  await tx.query(
    `insert into swept_tokens (chain, txid, address, asset, atoms)
     -- A token that takes a fee of transfers logs two of them.
     select $1, $2, a.address, m.asset, sum(m.atoms)
     from unnest($4::bytea[], $5::text[], $6::numeric[]) as m (lookup, asset, atoms)
     join addresses a on a.chain = $1 and a.lookup = m.lookup
     where exists (select from signed_transactions s where s.chain = $1 and s.txid = $3 and s.kind = 'batch')
     group by a.address, m.asset`,
    [
      chain,
      of.txid,
      of.replacementSet,
      moved.map(({ from }) => Buffer.from(from)),
      ...arraysOf(moved, 'asset', 'atoms'),
    ],
  )
  // A restored database knows the batch from the signer's journal, and of its sweeps only what they moved.
  await tx.query(
    `insert into sweeps (chain, id, address, series, position, asset, atoms, status, way, replacement_set)
     select $1, gen_random_uuid(), a.address, a.series, a.position, w.asset, w.atoms, 'sweeping', 'batch', $3
     from swept_tokens w cross join lateral (
       select * from addresses own where own.chain = w.chain and own.lookup = decode(substr(w.address, 3), 'hex') offset 0) a
     where w.chain = $1 and w.txid = $2 and not exists (select from sweeps s
       where s.chain = $1 and s.replacement_set = $3 and s.address = w.address and s.asset = w.asset)
     on conflict do nothing`,
    [chain, of.txid, of.replacementSet],
  )
}

/** A block took the gas of a sweep. */
export async function markFunded(db: Tx, chain: ChainName, replacementSet: string): Promise<void> {
  await db.query(
    `update sweeps set status = 'funded' where chain = $1 and gas_replacement_set = $2 and status = 'funding'`,
    [chain, replacementSet],
  )
}

/**
 * A settled replacement set ends its sweeps ({@link sweepEnd}); one that moved nothing leaves its deposits to a next sweep. Locks the
 * sweeps in no order: they belong to one replacement set, which its caller holds.
 */
export async function finishSweeps(
  tx: Tx,
  chain: ChainName,
  finished: { readonly txid: string; readonly replacementSet: string; readonly reverted: boolean },
): Promise<void> {
  const { txid, replacementSet, reverted } = finished
  const { rows } = await tx.query<EndingSweep & { id: string }>(
    `select id, status, way, replacement_set is not distinct from $2 as "isSwept", exists (select from swept_tokens w
       where w.chain = $1 and w.txid = $3 and w.address = s.address and w.asset = s.asset) as "hasMoved"
     from sweeps s where chain = $1 and (replacement_set = $2 or gas_replacement_set = $2) for update`,
    [chain, replacementSet, txid],
  )
  const ended = rows.flatMap((sweep) => {
    const status = sweepEnd(sweep, reverted)
    return status === sweep.status ? [] : [{ id: sweep.id, status }]
  })
  if (ended.length === 0) return
  await tx.query(
    `update sweeps s set status = e.status from unnest($2::uuid[], $3::text[]) as e (id, status)
     where s.chain = $1 and s.id = e.id`,
    [chain, ...arraysOf(ended, 'id', 'status')],
  )
  const failed = ended.filter(({ status }) => status === 'failed')
  await leaveDeposits(
    tx,
    chain,
    failed.map(({ id }) => id),
  )
}

/** What failed sweeps were to take waits for others. */
async function leaveDeposits(tx: Tx, chain: ChainName, sweeps: readonly string[]): Promise<void> {
  if (sweeps.length === 0) return
  await tx.query(
    `with gas as (update gas_funding set sweep = null where chain = $1 and sweep = any($2::uuid[])),
     unexpected as (update unexpected_deposits set sweep = null where chain = $1 and sweep = any($2::uuid[]))
     update deposits set sweep = null where chain = $1 and sweep = any($2::uuid[])`,
    [chain, sweeps],
  )
}

/** A sweep of ether that may have been signed for more than is left at its address. */
export interface UnminedSweep {
  readonly id: string
  readonly address: string
  readonly replacementSet: string
  /** What was signed for it last, and the fee of that; both leave its address. */
  readonly signedAtoms: bigint
  readonly feeAtoms: bigint
  /** What its next bump would take, with its fee. */
  readonly plannedAtoms: bigint
  /** As of a {@link SweepCandidate}. */
  readonly etherAtoms: bigint
  readonly isBumpWanted: boolean
}

/**
 * Sweeps of ether that no block holds, those whose block a reorganisation took after they were done among them: of which the
 * node refuses what was signed last, or has kept it for an hour. Not while a deposit that is to be swept is in no block: whether it
 * is given back is not decided yet.
 *
 * @param of.timesFee - Only those that should find more than so many times their fee at their address.
 */
export const listUnminedSweeps = (
  db: Queryable,
  chain: ChainName,
  of: { timesFee: bigint; limit: number },
): Promise<UnminedSweep[]> =>
  allRows(
    db,
    `select x.id, x.address, x.replacement_set as "replacementSet", n.value_atoms + n.fee_atoms as "signedAtoms",
       n.fee_atoms as "feeAtoms", x.atoms as "plannedAtoms", ${ETHER_OF_ADDRESS} as "etherAtoms",
       exists (select from signed_transactions t
         where t.chain = $1 and t.replacement_set = x.replacement_set and t.bump_wanted) as "isBumpWanted"
     from signed_transactions o
     join sweeps x on x.chain = o.chain and x.replacement_set = o.txid
     cross join lateral (select t.value_atoms, t.fee_atoms, t.status, t.created_at from signed_transactions t
       where t.chain = $1 and t.replacement_set = o.txid order by t.created_at desc limit 1) n
     where o.chain = $1 and ${openSql('o')} and o.kind = 'sweep' and o.asset = 'ETH'
       and (n.status = 'refused' or n.status <> 'placed' and n.created_at < now() - interval '1 hour')
       and not exists (select from signed_transactions t
         where t.chain = $1 and t.replacement_set = o.txid and t.block_height is not null)
       and not exists (select from deposits d where d.chain = $1 and d.sweep = x.id and d.block_height is null offset 0)
       and ${ETHER_OF_ADDRESS} > $2 * n.fee_atoms
     order by o.created_at, o.txid limit $3`,
    [chain, of.timesFee, of.limit],
  )

/** Its next bump takes just so much, and never more than was signed for it: a reorganisation took a part of that, or gave it back. */
export async function lowerSweep(
  tx: Tx,
  chain: ChainName,
  { id, replacementSet }: Pick<UnminedSweep, 'id' | 'replacementSet'>,
  atoms: bigint,
): Promise<void> {
  await tx.query('update sweeps set atoms = $3 where chain = $1 and id = $2', [chain, id, atoms])
  await wishBump(tx, chain, replacementSet)
}

/** Addresses whose nonces and balances the signer needs: those under a sweep. */
export async function listSweptAddresses(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    `select distinct address from sweeps where chain = $1 and status in ('planned', 'funding', 'funded')`,
    [chain],
  )
  return rows.map((row) => row.address)
}
