import { randomUUID } from 'node:crypto'
import { invariant } from '../../../src/core/errors.ts'
import { DAY_MS, HOUR_MS } from '../../../src/core/time.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import { sweepEnd } from '../../../src/treasury/sweep.ts'
import type * as real from '../../../src/treasury/sweeps.sql.ts'
import { forget, insert as insertRestored } from './restore-signed.sql.ts'
import { wishBump } from './signed-transactions.sql.ts'
import { existing, type GasFundingRow, hex, run, type SweepRow, type Tables } from './tables.ts'
import { isUnsweptCapital } from './unexpected-deposits.sql.ts'

const hasEnded = ({ status }: SweepRow): boolean => status === 'done' || status === 'failed'
const sweepsOf = (tables: Tables, address: string): SweepRow[] =>
  [...tables.sweeps.values()].filter((sweep) => sweep.address === address)

/** After one that failed the next waits a day for each failure. */
function mayBeSwept(tables: Tables, address: string, asset: string): boolean {
  const sweeps = sweepsOf(tables, address)
  const failed = sweeps.filter((sweep) => sweep.asset === asset && sweep.status === 'failed')
  const last = Math.max(0, ...failed.map(({ createdAt }) => createdAt))
  // A reorganisation took the block of one that had ended.
  const sets = new Set(sweeps.map(({ replacementSet }) => replacementSet))
  const isBack = [...tables.signed.values()].some((row) => sets.has(row.replacementSet) && isOpen(row.status))
  return !isBack && sweeps.every(hasEnded) && last + failed.length * DAY_MS <= tables.nowMs()
}

/** What an address holds: what it was paid and given, less what it sent. */
function etherOf(tables: Tables, address: string): bigint {
  let atoms = 0n
  for (const deposit of tables.deposits.values())
    if (deposit.address === address && deposit.asset === 'ETH' && deposit.booked) atoms += deposit.amountAtoms
  for (const row of tables.unexpectedDeposits.values())
    if (row.address === address && row.asset === 'ETH' && isUnsweptCapital(tables, { ...row, sweep: null }))
      atoms += row.atoms
  for (const given of tables.gasFunding.values()) if (given.address === address) atoms += given.atoms
  for (const { sender, asset, status, valueAtoms, paidFeeAtoms, blockHeight } of tables.signed.values()) {
    if (sender !== address || blockHeight === null) continue
    const hasMoved = asset === 'ETH' && (status === 'mined' || status === 'confirmed')
    atoms -= (paidFeeAtoms ?? 0n) + (hasMoved ? valueAtoms : 0n)
  }
  return atoms
}

export const listSweepCandidates: typeof real.listSweepCandidates = (db, _chain, of) =>
  run(db, (tables) => {
    const largest = new Map<string, bigint>()
    const free = [...tables.deposits].filter(
      ([key, { asset, booked }]) => asset === of.asset && booked && !tables.sweptBy.has(key),
    )
    for (const [, { address, amountAtoms }] of free)
      if (amountAtoms >= of.atomsMin && mayBeSwept(tables, address, of.asset))
        largest.set(
          address,
          amountAtoms > (largest.get(address) ?? 0n) ? amountAtoms : (largest.get(address) ?? 0n),
        )
    const unexpected = [...tables.unexpectedDeposits].filter(
      ([, row]) => row.asset === of.asset && isUnsweptCapital(tables, row),
    )
    for (const [, { address, atoms }] of unexpected)
      if (address !== null && atoms >= of.atomsMin && mayBeSwept(tables, address, of.asset))
        largest.set(address, atoms > (largest.get(address) ?? 0n) ? atoms : (largest.get(address) ?? 0n))
    const isLeft = ({ sweep }: GasFundingRow) => of.asset === 'ETH' && sweep === null
    for (const row of tables.gasFunding.values())
      if (
        isLeft(row) &&
        row.atoms >= of.gasLeftMin &&
        mayBeSwept(tables, row.address, 'ETH') &&
        etherOf(tables, row.address) >= of.gasLeftMin
      )
        largest.set(
          row.address,
          row.atoms > (largest.get(row.address) ?? 0n) ? row.atoms : (largest.get(row.address) ?? 0n),
        )
    return [...largest]
      .sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))
      .slice(0, of.limit)
      .map(([address]) => {
        const row = [...tables.addresses.values()].find((each) => each.address === address)
        invariant(row, `${address} was issued`)
        const mine = free.filter(([, deposit]) => deposit.address === address)
        const others = unexpected.filter(([, given]) => given.address === address)
        const done = sweepsOf(tables, address).filter(
          (sweep) => sweep.asset === of.asset && sweep.status === 'done',
        )
        return {
          address,
          series: row.series,
          position: row.position,
          asset: of.asset,
          bookedAtoms:
            mine.reduce((sum, [, { amountAtoms }]) => sum + amountAtoms, 0n) +
            others.reduce((sum, [, { atoms }]) => sum + atoms, 0n),
          etherAtoms: etherOf(tables, address),
          deposits: mine.map(([key]) => key),
          unexpected: others.map(([key]) => key),
          gas: [...tables.gasFunding.values()]
            .filter((given) => given.address === address && isLeft(given))
            .map(({ txid }) => txid),
          lastSweep: done.at(-1)?.id ?? null,
        }
      })
  })

export const planSweep: typeof real.planSweep = (tx, _chain, plan) =>
  run(tx, (tables) => {
    const { address, series, position, asset, atoms, etherAtoms, way, delegates } = plan
    if (!sweepsOf(tables, address).every(hasEnded)) return false
    const id = randomUUID()
    const what = { address, series, position, asset, atoms, etherAtoms, way, delegates }
    const nothing = { gasReplacementSet: null, replacementSet: null }
    tables.sweeps.set(id, { id, ...what, status: 'planned', ...nothing, createdAt: tables.nowMs() })
    take(tables, id, plan)
    return true
  })

export const takeBackSweeps: typeof real.takeBackSweeps = (db, _chain, asset, atomsMin) =>
  run(db, (tables) => {
    const plans = [...tables.sweeps.values()].filter(
      (sweep) => sweep.asset === asset && sweep.status === 'planned' && sweep.atoms < atomsMin,
    )
    for (const { id } of plans) forget(tables, id)
    return plans.length
  })

export const markSwept: typeof real.markSwept = (db, _chain, sweep, taken) =>
  run(db, (tables) => take(tables, sweep, taken))

function take(
  tables: Tables,
  sweep: string,
  { address, deposits, unexpected, gas }: Parameters<typeof real.markSwept>[3],
): void {
  for (const key of deposits)
    if (tables.deposits.get(key)?.booked && !tables.sweptBy.has(key)) tables.sweptBy.set(key, sweep)
  for (const [key, row] of [...tables.gasFunding])
    if (row.address === address && gas.includes(row.txid) && row.sweep === null)
      tables.gasFunding.set(key, { ...row, sweep })
  for (const [key, row] of [...tables.unexpectedDeposits])
    if (row.address === address && unexpected.includes(key) && isUnsweptCapital(tables, row))
      tables.unexpectedDeposits.set(key, { ...row, sweep })
}

export const recordSwept: typeof real.recordSwept = (tx, _chain, { txid, replacementSet }, moved) =>
  run(tx, (tables) => {
    for (const [key, row] of [...tables.sweptTokens]) if (row.txid === txid) tables.sweptTokens.delete(key)
    if (existing(tables.signed, replacementSet).kind !== 'batch') return
    for (const { from, asset, atoms } of moved) {
      const address = tables.addresses.get(hex(from))?.address
      if (address === undefined) continue
      const key = `${txid} ${address} ${asset}`
      const before = tables.sweptTokens.get(key)?.atoms ?? 0n
      tables.sweptTokens.set(key, { txid, address, asset, atoms: before + atoms })
    }
    // A database that was set back knows of a batch's sweeps only what they moved.
    for (const { txid: by, address, asset, atoms } of [...tables.sweptTokens.values()]) {
      const sweeps = sweepsOf(tables, address)
      const isKnown = sweeps.some((row) => row.replacementSet === replacementSet && row.asset === asset)
      if (by === txid && !isKnown && sweeps.every(hasEnded))
        insertRestored(tables, { address, asset, atoms, way: 'batch', replacementSet })
    }
  })

export const markFunded: typeof real.markFunded = (db, _chain, replacementSet) =>
  run(db, (tables) => {
    for (const sweep of [...tables.sweeps.values()])
      if (sweep.gasReplacementSet === replacementSet && sweep.status === 'funding')
        tables.sweeps.set(sweep.id, { ...sweep, status: 'funded' })
  })

export const finishSweeps: typeof real.finishSweeps = (tx, _chain, { txid, replacementSet, reverted }) =>
  run(tx, (tables) => {
    for (const sweep of [...tables.sweeps.values()]) {
      const isSwept = sweep.replacementSet === replacementSet
      if (!isSwept && sweep.gasReplacementSet !== replacementSet) continue
      const hasMoved = tables.sweptTokens.has(`${txid} ${sweep.address} ${sweep.asset}`)
      const status = sweepEnd({ ...sweep, isSwept, hasMoved }, reverted)
      if (status === sweep.status) continue
      tables.sweeps.set(sweep.id, { ...sweep, status })
      if (status !== 'failed') continue
      for (const [key, row] of [...tables.gasFunding])
        if (row.sweep === sweep.id) tables.gasFunding.set(key, { ...row, sweep: null })
      for (const [key, row] of [...tables.unexpectedDeposits])
        if (row.sweep === sweep.id) tables.unexpectedDeposits.set(key, { ...row, sweep: null })
      for (const [key, by] of [...tables.sweptBy]) if (by === sweep.id) tables.sweptBy.delete(key)
    }
  })

export const listUnminedSweeps: typeof real.listUnminedSweeps = (db, _chain, of) =>
  run(db, (tables) =>
    [...tables.signed.values()]
      .filter(({ kind, asset, status }) => kind === 'sweep' && asset === 'ETH' && isOpen(status))
      .flatMap(({ txid }) => {
        const set = [...tables.signed.values()].filter((row) => row.replacementSet === txid)
        const newest = set.toSorted((a, b) => a.createdAt - b.createdAt).at(-1)
        const sweep = [...tables.sweeps.values()].find((row) => row.replacementSet === txid)
        if (!newest || !sweep || set.some((row) => row.blockHeight !== null)) return []
        const isOld = newest.status !== 'placed' && newest.createdAt < tables.nowMs() - HOUR_MS
        const isUndecided = [...tables.deposits].some(
          ([key, row]) => tables.sweptBy.get(key) === sweep.id && row.blockHeight === null,
        )
        if (isUndecided || (newest.status !== 'refused' && !isOld)) return []
        const { id, address, atoms: plannedAtoms } = sweep
        const signedAtoms = newest.valueAtoms + newest.feeAtoms
        const isBumpWanted = set.some((row) => row.bumpWanted)
        const etherAtoms = etherOf(tables, address)
        if (etherAtoms <= of.timesFee * newest.feeAtoms) return []
        return [
          {
            id,
            address,
            replacementSet: txid,
            signedAtoms,
            feeAtoms: newest.feeAtoms,
            plannedAtoms,
            etherAtoms,
            isBumpWanted,
          },
        ]
      })
      .slice(0, of.limit),
  )

export const lowerSweep: typeof real.lowerSweep = async (tx, chain, { id, replacementSet }, atoms) => {
  await run(tx, (tables) => tables.sweeps.set(id, { ...existing(tables.sweeps, id), atoms }))
  await wishBump(tx, chain, replacementSet)
}

export const listSweptAddresses: typeof real.listSweptAddresses = (db) =>
  run(db, (tables) => [
    ...new Set(
      [...tables.sweeps.values()]
        .filter(({ status }) => ['planned', 'funding', 'funded'].includes(status))
        .map(({ address }) => address),
    ),
  ])
