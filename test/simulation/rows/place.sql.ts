import type { SignedEntry } from '../../../src/signer/journal.ts'
import type * as real from '../../../src/signer/place.sql.ts'
import { existing, run, type Tables, Violation } from './tables.ts'

class InUse extends Error {
  override readonly name = 'InUse'
}

const withdrawalsOf = (entry: SignedEntry): string[] =>
  entry.withdrawals.map((name) => name.split('/')[1] ?? '')

export const place: typeof real.place = async (db, entry, change) => {
  try {
    return await db.transaction((tx) => run(tx, (tables) => placeIn(tables, entry, change)))
  } catch (error) {
    if (error instanceof InUse || (error instanceof Violation && error.code === '23505')) return 'taken'
    throw error
  }
}

function placeIn(tables: Tables, entry: SignedEntry, change: real.ChangePlace | null): real.Placing {
  const { chain, txid, line, spends } = entry
  const opensLine = line === txid
  const payable = withdrawalsOf(entry).filter((id) => {
    const row = tables.withdrawals.get(id)
    return row && (!opensLine || (row.status === 'requested' && row.refusedReason === null))
  })
  if (tables.signed.has(txid)) return 'placed'
  if (opensLine && payable.length !== entry.withdrawals.length) throw new InUse()
  if (!opensLine) {
    const members = [...tables.signed.values()].filter((row) => row.line === line)
    if (members.length === 0 || members.some((row) => row.outcome !== null || row.blockHeight !== null))
      throw new InUse()
    for (const row of members) tables.signed.set(row.txid, { ...row, bumpWanted: false })
  }
  if (entry.sender !== null && entry.nonce !== null && opensLine) {
    if (tables.nonces.get(entry.sender) !== BigInt(entry.nonce)) throw new InUse()
    tables.nonces.set(entry.sender, BigInt(entry.nonce) + 1n)
    for (const row of tables.signed.values())
      if (row.sender === entry.sender && row.nonce === BigInt(entry.nonce))
        throw new Violation('23505', `${row.txid} uses nonce ${entry.nonce}`)
  }
  tables.signed.set(txid, {
    chain,
    txid,
    line,
    kind: entry.kind,
    raw: '',
    sender: entry.sender,
    nonce: entry.nonce === null ? null : BigInt(entry.nonce),
    asset: entry.asset,
    valueAtoms: BigInt(entry.valueAtoms),
    feeAtoms: BigInt(entry.feeAtoms),
    feeRate: BigInt(entry.feeRate),
    createdAt: tables.nowMs(),
    sendAt: null,
    sentAt: null,
    sinceHeight: null,
    refusal: null,
    blockHeight: null,
    blockHash: null,
    reverted: false,
    paidFeeAtoms: null,
    bookedFeeAtoms: 0n,
    feeBookings: 0,
    bumpWanted: false,
    outcome: null,
    isOpen: true,
  })
  if (opensLine)
    for (const id of withdrawalsOf(entry)) {
      if (tables.payouts.has(id) && tables.mutation !== 'payout-key-not-unique')
        throw new Violation('23505', `${id} is paid by ${tables.payouts.get(id)}`)
      tables.payouts.set(id, line)
    }
  for (const { txid: spent, index } of spends) {
    const coin = tables.coins.get(`${spent}:${index}`)
    const isFree = coin && coin.spentBy === null && (coin.reservedBy === null || coin.reservedBy === line)
    if (!isFree) throw new InUse()
    tables.coins.set(`${spent}:${index}`, {
      ...coin,
      reservedBy: line,
      reservedFirstBy: coin.reservedFirstBy ?? txid,
    })
  }
  if (entry.change && change) {
    const key = `${txid}:${entry.change.index}`
    if (!tables.coins.has(key))
      tables.coins.set(key, {
        chain,
        txid,
        index: entry.change.index,
        lookup: change.script,
        atoms: BigInt(entry.change.atoms),
        blockHeight: null,
        spentBy: null,
        spentHeight: null,
        reservedBy: null,
        reservedFirstBy: null,
      })
    const next = BigInt(entry.change.position) + 1n
    const before = tables.nextChange.get(change.series) ?? 1n
    tables.nextChange.set(change.series, next > before ? next : before)
  }
  return 'placed'
}

export const release: typeof real.release = (db, { txid, raw }) =>
  run(db, (tables) => {
    const row = existing(tables.signed, txid)
    if (row.sendAt === null) tables.signed.set(txid, { ...row, raw, sendAt: tables.nowMs() })
  })

export const listUnreleased: typeof real.listUnreleased = (db) =>
  run(db, (tables) =>
    [...tables.signed.values()]
      .filter((row) => row.sendAt === null)
      .map(({ chain, txid }) => ({ chain, txid })),
  )
