import { randomUUID } from 'node:crypto'
import type * as real from '../../../src/treasury/restore-signed.sql.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import { Taken } from './place-signed.sql.ts'
import { existing, membersOf, run, type SweepRow, type Tables } from './tables.ts'

export const listUnknown: typeof real.listUnknown = (db, _chain, txids) =>
  run(db, (tables) => txids.filter((txid) => !tables.signed.has(txid)))

export const listForgotten: typeof real.listForgotten = (db, sets) =>
  run(db, (tables) =>
    sets.filter(
      ([first, ...others]) =>
        first && tables.signed.has(first.txid) && others.some(({ txid }) => !tables.signed.has(txid)),
    ),
  )

export const raiseUsedNonce: typeof real.raiseUsedNonce = (tx, { sender, nonce }) =>
  run(tx, (tables) => {
    const next = tables.nonces.get(sender)
    if (next !== undefined && next <= BigInt(nonce)) tables.nonces.set(sender, BigInt(nonce) + 1n)
  })

export const takeUtxosBack: typeof real.takeUtxosBack = (tx, { txid, replacementSet, spends }) =>
  run(tx, (tables) => {
    const utxos = spends.flatMap((spent) => tables.utxos.get(`${spent.txid}:${spent.index}`) ?? [])
    if (utxos.some(({ reservedBy }) => reservedBy !== null && reservedBy !== replacementSet))
      throw new Taken()
    for (const utxo of utxos)
      tables.utxos.set(`${utxo.txid}:${utxo.index}`, {
        ...utxo,
        reservedBy: replacementSet,
        reservedFirstBy: utxo.reservedFirstBy ?? txid,
      })
    return utxos.length === spends.length
  })

export const listOpenSets: typeof real.listOpenSets = (db, chain) =>
  run(db, (tables) => {
    const open = [...tables.signed.values()].filter((row) => row.chain === chain && isOpen(row.status))
    return [...new Set(open.map(({ replacementSet }) => replacementSet))].map((replacementSet) => ({
      replacementSet,
    }))
  })

export const lockIfOpen: typeof real.lockIfOpen = (tx, { replacementSet }) =>
  run(tx, (tables) => membersOf(tables, replacementSet).every(({ status }) => isOpen(status)))

export const searchFromTip: typeof real.searchFromTip = (tx, chain, txid) =>
  run(tx, (tables) => {
    const spent = [...tables.utxos.values()].filter(({ spentBy }) => spentBy === txid)
    const heights = spent.flatMap(({ spentHeight }) => spentHeight ?? [])
    const sinceHeight = heights.length > 0 ? Math.min(...heights) : existing(tables.chains, chain).tipHeight
    tables.signed.set(txid, { ...existing(tables.signed, txid), sinceHeight })
  })

export const listNotKnownAsPaid: typeof real.listNotKnownAsPaid = (tx, { replacementSet }, paid) =>
  run(tx, (tables) => paid.filter(({ id }) => tables.payouts.get(id) !== replacementSet))

export const restoreSweep: typeof real.restoreSweep = (tx, opening) =>
  run(tx, (tables) => {
    const { sweep: id, sender, asset, valueAtoms, feeAtoms, replacementSet } = opening
    const before = tables.sweeps.get(id)
    if (opening.purpose === 'gas') {
      if (before?.status === 'planned')
        tables.sweeps.set(id, { ...before, status: 'funding', gasReplacementSet: replacementSet })
      return
    }
    for (const row of [...tables.sweeps.values()])
      if (row.address === sender && row.id !== id && row.status === 'planned') forget(tables, row.id)
    if (before) {
      if (['planned', 'funding', 'funded'].includes(before.status))
        tables.sweeps.set(id, { ...before, status: 'sweeping', replacementSet })
      return
    }
    const atoms = BigInt(valueAtoms) + (asset === 'ETH' ? BigInt(feeAtoms) : 0n)
    insert(tables, { id, address: sender, asset, atoms, way: 'alone', replacementSet })
  })

export const restoreBatch: typeof real.restoreBatch = (tx, { replacementSet, batch }) =>
  run(tx, (tables) => {
    for (const id of batch.sweeps) {
      const row = tables.sweeps.get(id)
      if (row?.status === 'planned') tables.sweeps.set(id, { ...row, status: 'sweeping', replacementSet })
    }
    for (const { address, nonce } of batch.authorities) {
      const next = tables.nonces.get(address) ?? 0n
      if (next <= BigInt(nonce)) tables.nonces.set(address, BigInt(nonce) + 1n)
    }
  })

export const restoreDeployment: typeof real.restoreDeployment = (tx, { deploys, replacementSet }) =>
  run(tx, (tables) => {
    const before = tables.sweepDelegates.get(deploys)
    tables.sweepDelegates.set(deploys, { wantedSince: before?.wantedSince ?? null, replacementSet })
  })

export function forget(tables: Tables, sweep: string): void {
  tables.sweeps.delete(sweep)
  for (const [key, by] of [...tables.sweptBy]) if (by === sweep) tables.sweptBy.delete(key)
  for (const [key, row] of [...tables.gasFunding])
    if (row.sweep === sweep) tables.gasFunding.set(key, { ...row, sweep: null })
  for (const [key, row] of [...tables.unexpectedDeposits])
    if (row.sweep === sweep) tables.unexpectedDeposits.set(key, { ...row, sweep: null })
}

/** A sweep that is known by what carried it out alone. */
export function insert(
  tables: Tables,
  of: Pick<SweepRow, 'address' | 'asset' | 'atoms' | 'way' | 'replacementSet'> & { readonly id?: string },
): void {
  const { series, position } = existing(tables.addresses, of.address.slice(2).toLowerCase())
  const id = of.id ?? randomUUID()
  const rest = { series, position, etherAtoms: 0n, delegates: false, createdAt: tables.nowMs() }
  tables.sweeps.set(id, { ...of, ...rest, id, status: 'sweeping', gasReplacementSet: null })
}
