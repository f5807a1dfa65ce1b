import type * as real from '../../../src/treasury/place-signed.sql.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import { existing, membersOf, run, type Tables, Violation } from './tables.ts'

export class Taken extends Error {
  override readonly name = 'Taken'
}

export const isKnown: typeof real.isKnown = (db, _chain, txid) => run(db, (tables) => tables.signed.has(txid))

export const insertSigned: typeof real.insertSigned = (tx, entry, status) =>
  run(tx, (tables) => {
    const { chain, txid, replacementSet, kind, asset } = entry
    if (tables.signed.has(txid)) return
    const { sender, nonce } = entry.purpose === 'outputs' ? { sender: null, nonce: null } : entry
    if (replacementSet === txid && sender !== null)
      for (const row of tables.signed.values())
        if (row.txid === row.replacementSet && row.sender === sender && row.nonce === BigInt(nonce))
          throw new Violation('23505', `${row.txid} uses nonce ${nonce}`)
    tables.signed.set(txid, {
      chain,
      txid,
      replacementSet,
      kind,
      status,
      raw: '',
      sender,
      nonce: nonce === null ? null : BigInt(nonce),
      asset,
      valueAtoms: BigInt(entry.valueAtoms),
      feeAtoms: BigInt(entry.feeAtoms),
      feeRate: BigInt(entry.feeRate),
      createdAt: tables.nowMs(),
      sendAt: tables.nowMs(),
      sentAt: null,
      sinceHeight: null,
      refusal: null,
      blockHeight: null,
      blockHash: null,
      paidFeeAtoms: null,
      bookedFeeAtoms: 0n,
      feeBookings: 0,
      bumpWanted: false,
    })
  })

export const markReady: typeof real.markReady = (db, { txid, raw }) =>
  run(db, (tables) => {
    const row = existing(tables.signed, txid)
    if (row.status === 'placed' || row.status === 'recovered')
      tables.signed.set(txid, { ...row, raw, status: 'ready', sendAt: tables.nowMs() })
  })

export const listPlaced: typeof real.listPlaced = (db) =>
  run(db, (tables) =>
    [...tables.signed.values()]
      .filter(({ status }) => status === 'placed' || status === 'recovered')
      .map(({ chain, txid }) => ({ chain, txid })),
  )

export const lockOpenSet: typeof real.lockOpenSet = (tx, { replacementSet }) =>
  run(tx, (tables) => {
    const members = membersOf(tables, replacementSet)
    if (members.length === 0 || members.some((row) => !isOpen(row.status) || row.blockHeight !== null))
      throw new Taken()
    for (const row of members) tables.signed.set(row.txid, { ...row, bumpWanted: false })
  })

export const takeNonce: typeof real.takeNonce = (tx, { sender, nonce }) =>
  run(tx, (tables) => {
    if (tables.nonces.get(sender) !== BigInt(nonce)) throw new Taken()
    tables.nonces.set(sender, BigInt(nonce) + 1n)
  })

export const insertPayouts: typeof real.insertPayouts = (tx, { replacementSet }, paid) =>
  run(tx, (tables) => {
    for (const { id } of paid) {
      if (tables.payouts.has(id) && tables.mutation !== 'payout-key-not-unique')
        throw new Violation('23505', `${id} is paid by ${tables.payouts.get(id)}`)
      tables.payouts.set(id, replacementSet)
    }
  })

export const reserveUtxos: typeof real.reserveUtxos = (tx, { txid, replacementSet, spends }) =>
  run(tx, (tables) => {
    for (const { txid: spent, index } of spends) {
      const utxo = tables.utxos.get(`${spent}:${index}`)
      const isFree =
        utxo && utxo.spentBy === null && (utxo.reservedBy === null || utxo.reservedBy === replacementSet)
      if (!isFree) throw new Taken()
      tables.utxos.set(`${spent}:${index}`, {
        ...utxo,
        reservedBy: replacementSet,
        reservedFirstBy: utxo.reservedFirstBy ?? txid,
      })
    }
  })

export const advanceSweep: typeof real.advanceSweep = (tx, { sweep, kind, replacementSet }) =>
  run(tx, (tables) => {
    const row = tables.sweeps.get(sweep)
    if (kind !== 'gas') return advance(tables, sweep, replacementSet)
    if (row?.status !== 'planned') throw new Taken()
    tables.sweeps.set(sweep, { ...row, status: 'funding', gasReplacementSet: replacementSet })
  })

function advance(tables: Tables, id: string, replacementSet: string): void {
  const sweep = tables.sweeps.get(id)
  if (sweep?.status !== 'planned' && sweep?.status !== 'funded') throw new Taken()
  tables.sweeps.set(id, { ...sweep, status: 'sweeping', replacementSet })
}

export const advanceBatch: typeof real.advanceBatch = (tx, { batch, replacementSet }) =>
  run(tx, (tables) => {
    for (const id of batch.sweeps) advance(tables, id, replacementSet)
    for (const { address, nonce } of batch.authorities) {
      if (tables.nonces.get(address) !== BigInt(nonce)) throw new Taken()
      tables.nonces.set(address, BigInt(nonce) + 1n)
    }
  })

export const takeDeployment: typeof real.takeDeployment = (tx, { deploys, replacementSet }) =>
  run(tx, (tables) => {
    const row = tables.sweepDelegates.get(deploys)
    if (row?.replacementSet !== null) throw new Taken()
    tables.sweepDelegates.set(deploys, { ...row, replacementSet })
  })

export const expectChange: typeof real.expectChange = (tx, { chain, txid }, change, script) =>
  run(tx, (tables) => {
    const key = `${txid}:${change.index}`
    if (tables.utxos.has(key)) return
    tables.utxos.set(key, {
      chain,
      txid,
      index: change.index,
      lookup: script,
      atoms: BigInt(change.atoms),
      blockHeight: null,
      spentBy: null,
      spentHeight: null,
      reservedBy: null,
      reservedFirstBy: null,
    })
  })
