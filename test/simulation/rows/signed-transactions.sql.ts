import { invariant } from '../../../src/core/errors.ts'
import { isOpen, type SignedTrigger, signedStatusAfter } from '../../../src/treasury/signed-transaction.ts'
import type * as real from '../../../src/treasury/signed-transactions.sql.ts'
import { existing, membersOf, run, type SignedRow, type Tables } from './tables.ts'

/** Nothing where the trigger can not befall it. @returns Whether it can. */
function befall(tables: Tables, txid: string, trigger: SignedTrigger, to: Partial<SignedRow> = {}): boolean {
  const row = existing(tables.signed, txid)
  const status = signedStatusAfter(row.status, trigger)
  if (status) tables.signed.set(txid, { ...row, ...to, status })
  return status !== null
}
const takenBack = (tables: Tables, { txid, raw }: SignedRow): boolean =>
  befall(tables, txid, raw === '' ? 'reorganised_without_bytes' : 'reorganised', {
    blockHeight: null,
    blockHash: null,
    paidFeeAtoms: null,
    sendAt: tables.nowMs(),
  })

export const claimToSend: typeof real.claimToSend = (db, _chain, tipHeight, limit) =>
  run(db, (tables) => {
    const now = tables.nowMs()
    const due = [...tables.signed.values()]
      .filter((row) => {
        const members = membersOf(tables, row.replacementSet)
        return (
          ['ready', 'sent', 'refused'].includes(row.status) &&
          row.sendAt <= now &&
          !members.some(
            (other) =>
              other.kind === 'replacement' &&
              other.createdAt > row.createdAt &&
              (other.status !== 'refused' || row.nonce !== null),
          ) &&
          (row.kind === 'child' ||
            !members.some((other) => other.kind !== 'child' && other.blockHeight !== null))
        )
      })
      .sort(inOrderOfNonces)
      .slice(0, limit)
    for (const row of due)
      tables.signed.set(row.txid, {
        ...row,
        sendAt: now + 30_000,
        sinceHeight: row.sinceHeight ?? tipHeight,
      })
    return due
      .map(({ txid }) => existing(tables.signed, txid))
      .sort((a, b) => inOrderOfNonces(a, b) || Number(a.kind === 'child') - Number(b.kind === 'child'))
  })

const inOrderOfNonces = (a: SignedRow, b: SignedRow): number => Number((a.nonce ?? 0n) - (b.nonce ?? 0n))

export const returnToSend: typeof real.returnToSend = (db, _chain, txids) =>
  run(db, (tables) => {
    const sendAt = tables.nowMs()
    for (const txid of txids) tables.signed.set(txid, { ...existing(tables.signed, txid), sendAt })
  })

export const markSent: typeof real.markSent = (tx, _chain, txid) =>
  run(tx, (tables) => {
    const { sentAt } = existing(tables.signed, txid)
    befall(tables, txid, 'sent', { sentAt: sentAt ?? tables.now(), refusal: null })
  })

export const markRefusedByNode: typeof real.markRefusedByNode = (db, _chain, txid, reason) =>
  run(db, (tables) => {
    const { status, refusal } = existing(tables.signed, txid)
    const isRefused = signedStatusAfter(status, 'refused') === 'refused'
    befall(tables, txid, 'refused', { refusal: isRefused ? reason : null, sendAt: tables.nowMs() + 3_000 })
    return refusal === reason
  })

export const listUnderWay: typeof real.listUnderWay = (db, _chain, after) =>
  run(db, (tables) =>
    after === null
      ? [...tables.signed.values()].filter((row) => isOpen(row.status) && row.status !== 'placed')
      : [],
  )

const unseenEnds = (tables: Tables): SignedRow[] => {
  const kept = Math.min(...[...tables.blocks.keys()].map(Number))
  return [...tables.signed.values()].filter(
    ({ status, blockHeight, blockHash }) =>
      (status === 'confirmed' || status === 'reverted') &&
      blockHeight !== null &&
      blockHeight >= kept &&
      tables.blocks.get(String(blockHeight)) !== blockHash,
  )
}

export const listTakenBack: typeof real.listTakenBack = (db, chain) =>
  run(db, (tables) => {
    const { tipHeight } = existing(tables.chains, chain)
    return unseenEnds(tables).filter(({ blockHeight }) => Number(blockHeight) <= tipHeight)
  })

export const findUnseenEnd: typeof real.findUnseenEnd = (db) =>
  run(db, (tables) => unseenEnds(tables)[0]?.txid ?? null)

export const markMined: typeof real.markMined = (db, _chain, txid, block) =>
  run(db, (tables) => {
    const { height: blockHeight, hash: blockHash, reverted, paidFeeAtoms } = block
    if (tables.signed.get(txid)?.blockHash === blockHash) return
    const to = { refusal: null, blockHeight, blockHash, paidFeeAtoms }
    befall(tables, txid, reverted ? 'mined_reverted' : 'mined', to)
  })

export const markUnmined: typeof real.markUnmined = (db, _chain, txid) =>
  run(db, (tables) => {
    const row = existing(tables.signed, txid)
    if (row.blockHash !== null && isOpen(row.status)) takenBack(tables, row)
  })

export const reopen: typeof real.reopen = (db, _chain, replacementSet) =>
  run(db, (tables) => {
    for (const row of membersOf(tables, replacementSet)) if (!isOpen(row.status)) takenBack(tables, row)
  })

export const lockReplacementSet: typeof real.lockReplacementSet = (tx, _chain, replacementSet) =>
  run(tx, (tables) => membersOf(tables, replacementSet).sort((a, b) => (a.txid < b.txid ? -1 : 1)))

export const markFeeBooked: typeof real.markFeeBooked = (tx, _chain, txid, atoms) =>
  run(tx, (tables) => {
    const row = existing(tables.signed, txid)
    tables.signed.set(txid, { ...row, bookedFeeAtoms: atoms, feeBookings: row.feeBookings + 1 })
  })

export const end: typeof real.end = (tx, { txid }, trigger) =>
  run(tx, (tables) => {
    const block = trigger === 'buried' ? {} : { blockHeight: null, blockHash: null, paidFeeAtoms: null }
    const ended = befall(tables, txid, trigger, { ...block, bumpWanted: false, refusal: null })
    invariant(ended, `${txid} can not become ${trigger}`)
  })

export const wishBumps: typeof real.wishBumps = async () => 0
export const wishSweepBumps: typeof real.wishSweepBumps = async () => 0

export const wishBump: typeof real.wishBump = (db, _chain, replacementSet) =>
  run(db, (tables) => {
    const row = tables.signed.get(replacementSet)
    if (!row || !isOpen(row.status) || row.blockHeight !== null) return false
    tables.signed.set(replacementSet, { ...row, bumpWanted: true })
    return true
  })
