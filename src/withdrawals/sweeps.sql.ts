/** Sweeps: deposits on chains with accounts on their way to the hot wallet. */
import { randomUUID } from 'node:crypto'
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'

export interface SweepCandidate {
  readonly address: string
  readonly series: string
  readonly position: bigint
  readonly asset: Asset
  /** Its booked deposits that no sweep has taken. */
  readonly bookedAtoms: bigint
  /** A batch swept it before: batches take all there is, deposits that were not confirmed yet included. */
  readonly wasBatched: boolean
}

/**
 * Addresses with a booked deposit of at least so many atoms that no sweep has taken, the largest deposits first, and
 * without a sweep under way. After a sweep that failed the next one waits a day for each failure: a token that blocks
 * the address would otherwise cost gas for ever.
 */
export async function listSweepCandidates(
  db: Queryable,
  chain: ChainName,
  of: { asset: Asset; atomsMin: bigint; limit: number },
): Promise<SweepCandidate[]> {
  const { rows } = await db.query<
    Omit<SweepCandidate, 'bookedAtoms' | 'wasBatched'> & { atoms: bigint; was_batched: boolean }
  >(
    `select d.address, a.series, a.position, $2 as asset,
       (select sum(amount_atoms) from deposits
        where chain = $1 and address = d.address and asset = $2 and booked and not swept) as atoms,
       exists (select from sweeps s where s.chain = $1 and s.address = d.address and s.asset = $2
         and s.way = 'batch' and s.status = 'done') as was_batched
     from (
       select address, max(amount_atoms) as largest from (
         select address, amount_atoms from deposits e
         where chain = $1 and asset = $2 and booked and not swept and amount_atoms >= $3
           and not exists (select from sweeps s where s.chain = $1 and s.address = e.address
             and s.status not in ('done', 'failed'))
           and coalesce((select max(s.created_at) + count(*) * interval '1 day' from sweeps s
             where s.chain = $1 and s.address = e.address and s.asset = $2 and s.status = 'failed'), now()) <= now()
         order by amount_atoms desc limit $4) as latest
       group by address
     ) d
     join addresses a on a.chain = $1 and a.lookup = decode(substr(d.address, 3), 'hex') and a.branch = 0
     -- Nobody here has the keys of a retired wallet.
     join wallets w on w.chain = $1 and w.series = a.series and w.retired_at is null
     order by d.largest desc`,
    [chain, of.asset, of.atomsMin, of.limit],
  )
  return rows.map(({ atoms, was_batched, ...row }) => ({
    ...row,
    bookedAtoms: atoms,
    wasBatched: was_batched,
  }))
}

export interface SweepPlan extends Pick<SweepCandidate, 'address' | 'series' | 'position' | 'asset'> {
  readonly atoms: bigint
  readonly way: 'alone' | 'batch'
  /** The address delegates to our contract already. */
  readonly delegates: boolean
}

/** Plans a sweep and marks the deposits that it takes. @returns False when the address has one under way. */
export async function planSweep(tx: Tx, chain: ChainName, plan: SweepPlan): Promise<boolean> {
  const { address, series, position, asset, atoms, way, delegates } = plan
  const { rowCount } = await tx.query(
    `insert into sweeps (chain, id, address, series, position, asset, atoms, status, way, delegates)
     values ($1, $2, $3, $4, $5, $6, $7, 'planned', $8, $9) on conflict do nothing`,
    [chain, randomUUID(), address, series, position, asset, atoms, way, delegates],
  )
  if (rowCount === 0) return false
  await markSwept(tx, chain, plan)
  return true
}

/** The booked deposits of an address are taken, or were taken before they were booked. */
export async function markSwept(
  db: Queryable,
  chain: ChainName,
  { address, asset }: Pick<SweepCandidate, 'address' | 'asset'>,
): Promise<void> {
  await db.query(
    `update deposits set swept = true where chain = $1 and address = $2 and asset = $3 and booked and not swept`,
    [chain, address, asset],
  )
}

/** Asks the signer for the contract that batches run at. Asking again changes nothing. */
export async function wantDelegate(db: Queryable, chain: ChainName, address: string): Promise<void> {
  await db.query('insert into sweep_delegates (chain, address) values ($1, $2) on conflict do nothing', [
    chain,
    address,
  ])
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
  of: { readonly txid: string; readonly line: string },
  moved: readonly SweptTokens[],
): Promise<void> {
  await tx.query('delete from swept_tokens where chain = $1 and txid = $2', [chain, of.txid])
  await tx.query(
    `insert into swept_tokens (chain, txid, address, asset, atoms)
     select $1, $2, a.address, m.asset, m.atoms
     from unnest($4::bytea[], $5::text[], $6::numeric[]) as m (lookup, asset, atoms)
     join addresses a on a.chain = $1 and a.lookup = m.lookup
     where exists (select from sweeps s where s.chain = $1 and s.line = $3 and s.way = 'batch')`,
    [
      chain,
      of.txid,
      of.line,
      moved.map(({ from }) => Buffer.from(from)),
      moved.map(({ asset }) => asset),
      moved.map(({ atoms }) => atoms),
    ],
  )
}

/** A block took the gas of a sweep. */
export async function markFunded(db: Tx, chain: ChainName, line: string): Promise<void> {
  await db.query(
    `update sweeps set status = 'funded' where chain = $1 and gas_line = $2 and status = 'funding'`,
    [chain, line],
  )
}

/**
 * A settled line ends its sweeps; one that moved nothing leaves its deposits to a next sweep. A sweep that was done fails
 * when a reorganisation made it run again, and for nothing.
 */
export async function finishSweeps(
  tx: Tx,
  chain: ChainName,
  settled: { readonly txid: string; readonly line: string; readonly reverted: boolean },
): Promise<void> {
  const { rows } = await tx.query<{ address: string; asset: Asset; status: string }>(
    `with ended as (
       select id, case when not $4 and (way = 'alone' or exists (select from swept_tokens w
         where w.chain = $1 and w.txid = $2 and w.address = s.address and w.asset = s.asset)) then 'done' else 'failed' end as status
       from sweeps s
       where chain = $1 and (line = $3 or gas_line = $3 and $4) and status in ('funding', 'funded', 'sweeping', 'done')
       for update
     )
     update sweeps s set status = ended.status from ended
     where s.chain = $1 and s.id = ended.id and s.status <> ended.status returning s.address, s.asset, s.status`,
    [chain, settled.txid, settled.line, settled.reverted],
  )
  for (const { address, asset, status } of rows) {
    if (status === 'done') continue
    await tx.query(
      'update deposits set swept = false where chain = $1 and address = $2 and asset = $3 and swept',
      [chain, address, asset],
    )
  }
}

/** Addresses whose nonces and balances the signer needs: those under a sweep. */
export async function listSweptAddresses(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    `select distinct address from sweeps where chain = $1 and status in ('planned', 'funding', 'funded')`,
    [chain],
  )
  return rows.map((row) => row.address)
}

export interface Unswept {
  readonly asset: Asset
  readonly addresses: bigint
  readonly atoms: bigint
}

/** Booked deposits that still lie at their own addresses: too small to be worth their gas, refused, or not taken yet. */
export async function sumUnswept(db: Queryable, chain: ChainName): Promise<Unswept[]> {
  const { rows } = await db.query<Unswept>(
    `select asset, count(distinct address) as addresses, sum(amount_atoms) as atoms from deposits
     where chain = $1 and booked and not swept and asset in ('ETH', 'USDC', 'USDT') group by asset order by asset`,
    [chain],
  )
  return rows
}
