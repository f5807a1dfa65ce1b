/** Sweeps: deposits on chains with accounts on their way to the hot wallet. */
import { randomUUID } from 'node:crypto'
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'

export interface SweepCandidate {
  readonly address: string
  readonly series: string
  readonly position: bigint
  readonly asset: Asset
}

/**
 * Addresses with booked deposits that no sweep has taken, the largest deposits first, and without a sweep under way.
 * What is too small for its gas stays at the end of this list.
 */
export async function listSweepCandidates(
  db: Queryable,
  chain: ChainName,
  limit: number,
): Promise<SweepCandidate[]> {
  const { rows } = await db.query<SweepCandidate>(
    `select d.address, a.series, a.position, d.asset
     from (
       select address, asset, max(amount_atoms) as largest from (
         select address, asset, amount_atoms from deposits
         where chain = $1 and booked and not swept and asset in ('ETH', 'USDC', 'USDT')
         order by amount_atoms desc limit 1000) as latest
       group by address, asset
     ) d
     join addresses a on a.chain = $1 and a.lookup = decode(substr(d.address, 3), 'hex') and a.branch = 0
     where not exists (select from sweeps s where s.chain = $1 and s.address = d.address
       and s.status not in ('done', 'failed'))
     order by d.largest desc limit $2`,
    [chain, limit],
  )
  return rows
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
export async function markFunded(db: Queryable, chain: ChainName, line: string): Promise<void> {
  await db.query(
    `update sweeps set status = 'funded' where chain = $1 and gas_line = $2 and status = 'funding'`,
    [chain, line],
  )
}

/** A settled line ends its sweep; one that was reverted leaves the deposits to a next sweep. */
export async function finishSweep(tx: Tx, chain: ChainName, line: string, succeeded: boolean): Promise<void> {
  const { rows } = await tx.query<{ address: string; asset: Asset }>(
    `update sweeps set status = $3 where chain = $1 and (line = $2 or (gas_line = $2 and $3 = 'failed'))
       and status in ('funding', 'funded', 'sweeping') returning address, asset`,
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
