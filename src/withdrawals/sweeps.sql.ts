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
  const { rows } = await db.query<Omit<SweepCandidate, 'bookedAtoms'> & { atoms: bigint }>(
    `select d.address, a.series, a.position, $2 as asset,
       (select sum(amount_atoms) from deposits
        where chain = $1 and address = d.address and asset = $2 and booked and not swept) as atoms
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
     order by d.largest desc`,
    [chain, of.asset, of.atomsMin, of.limit],
  )
  return rows.map(({ atoms, ...row }) => ({ ...row, bookedAtoms: atoms }))
}

/** Plans a sweep and marks the deposits that it takes. @returns False when the address has one under way. */
export async function planSweep(
  tx: Tx,
  chain: ChainName,
  candidate: SweepCandidate,
  atoms: bigint,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into sweeps (chain, id, address, series, position, asset, atoms, status)
     values ($1, $2, $3, $4, $5, $6, $7, 'planned') on conflict do nothing`,
    [chain, randomUUID(), candidate.address, candidate.series, candidate.position, candidate.asset, atoms],
  )
  if (rowCount === 0) return false
  await tx.query(
    `update deposits set swept = true where chain = $1 and address = $2 and asset = $3 and booked and not swept`,
    [chain, candidate.address, candidate.asset],
  )
  return true
}

/** A block took the gas of a sweep. */
export async function markFunded(db: Tx, chain: ChainName, line: string): Promise<void> {
  await db.query(
    `update sweeps set status = 'funded' where chain = $1 and gas_line = $2 and status = 'funding'`,
    [chain, line],
  )
}

/**
 * A settled line ends its sweep; one that was reverted leaves the deposits to a next sweep. A sweep that was done fails
 * when a reorganisation made it run again, and for nothing.
 */
export async function finishSweep(tx: Tx, chain: ChainName, line: string, succeeded: boolean): Promise<void> {
  const { rows } = await tx.query<{ address: string; asset: Asset }>(
    `update sweeps set status = $3 where chain = $1 and (line = $2 or (gas_line = $2 and $3 = 'failed'))
       and status in ('funding', 'funded', 'sweeping', 'done') and status <> $3 returning address, asset`,
    [chain, line, succeeded ? 'done' : 'failed'],
  )
  if (succeeded) return
  for (const { address, asset } of rows)
    await tx.query(
      'update deposits set swept = false where chain = $1 and address = $2 and asset = $3 and swept',
      [chain, address, asset],
    )
}

/** Addresses whose nonces and balances the signer needs: those under a sweep. */
export async function listSweptAddresses(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    `select distinct address from sweeps where chain = $1 and status in ('planned', 'funding', 'funded')`,
    [chain],
  )
  return rows.map((row) => row.address)
}
