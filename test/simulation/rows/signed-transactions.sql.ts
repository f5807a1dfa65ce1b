import type * as real from '../../../src/treasury/signed-transactions.sql.ts'
import { existing, run, type SignedRow, type Tables } from './tables.ts'

const change = (tables: Tables, txid: string, to: Partial<SignedRow>): void =>
  tables.signed.set(txid, { ...existing(tables.signed, txid), ...to })
const lineOf = (tables: Tables, line: string): SignedRow[] =>
  [...tables.signed.values()].filter((row) => row.line === line)

export const claimToSend: typeof real.claimToSend = (db, _chain, tipHeight, limit) =>
  run(db, (tables) => {
    const now = tables.nowMs()
    const due = [...tables.signed.values()]
      .filter((row) => {
        const members = lineOf(tables, row.line)
        return (
          row.outcome === null &&
          row.blockHeight === null &&
          row.sendAt !== null &&
          row.sendAt <= now &&
          !members.some(
            (other) =>
              other.kind === 'replacement' &&
              other.createdAt > row.createdAt &&
              (other.refusal === null || row.nonce !== null),
          ) &&
          (row.kind === 'child' ||
            !members.some((other) => other.kind !== 'child' && other.blockHeight !== null))
        )
      })
      .sort(inOrderOfNonces)
      .slice(0, limit)
    for (const { txid, sinceHeight } of due)
      change(tables, txid, { sendAt: now + 30_000, sinceHeight: sinceHeight ?? tipHeight })
    return due
      .map(({ txid }) => existing(tables.signed, txid))
      .sort((a, b) => inOrderOfNonces(a, b) || Number(a.kind === 'child') - Number(b.kind === 'child'))
  })

const inOrderOfNonces = (a: SignedRow, b: SignedRow): number => Number((a.nonce ?? 0n) - (b.nonce ?? 0n))

export const markSent: typeof real.markSent = (tx, _chain, txid) =>
  run(tx, (tables) => {
    const { sentAt } = existing(tables.signed, txid)
    change(tables, txid, { sentAt: sentAt ?? tables.now(), refusal: null })
  })

export const markRefusedByNode: typeof real.markRefusedByNode = (db, _chain, txid, reason) =>
  run(db, (tables) => {
    const { refusal } = existing(tables.signed, txid)
    change(tables, txid, { refusal: reason, sendAt: tables.nowMs() + 3_000 })
    return refusal === reason
  })

export const listUnderWay: typeof real.listUnderWay = (db, _chain, after) =>
  run(db, (tables) =>
    after === null
      ? [...tables.signed.values()].filter((row) => row.outcome === null && row.sinceHeight !== null)
      : [],
  )

export const listTakenBack: typeof real.listTakenBack = (db, chain) =>
  run(db, (tables) => {
    const { tipHeight } = existing(tables.chains, chain)
    return [...tables.signed.values()].filter(
      ({ outcome, blockHeight, blockHash }) =>
        (outcome === 'confirmed' || outcome === 'reverted') &&
        blockHeight !== null &&
        blockHeight >= tipHeight - 99 &&
        blockHeight <= tipHeight &&
        tables.blocks.get(String(blockHeight)) !== blockHash,
    )
  })

export const markBlock: typeof real.markBlock = (db, _chain, txid, block) =>
  run(db, (tables) => {
    const row = tables.signed.get(txid)
    if (!row || row.blockHash === (block?.hash ?? null)) return
    change(tables, txid, {
      blockHeight: block?.height ?? null,
      blockHash: block?.hash ?? null,
      reverted: block?.reverted ?? false,
      paidFeeAtoms: block?.paidFeeAtoms ?? null,
      sendAt: block ? row.sendAt : tables.nowMs(),
    })
  })

export const reopen: typeof real.reopen = (db, _chain, line) =>
  run(db, (tables) => {
    for (const row of lineOf(tables, line))
      if (row.outcome !== null && row.outcome !== 'impossible')
        change(tables, row.txid, {
          outcome: null,
          isOpen: true,
          blockHeight: null,
          blockHash: null,
          sendAt: row.sendAt === null ? null : tables.nowMs(),
        })
  })

export const lockLine: typeof real.lockLine = (tx, _chain, line) =>
  run(tx, (tables) => lineOf(tables, line).sort((a, b) => (a.txid < b.txid ? -1 : 1)))

export const markFeeBooked: typeof real.markFeeBooked = (tx, _chain, txid, atoms) =>
  run(tx, (tables) => {
    const { feeBookings } = existing(tables.signed, txid)
    change(tables, txid, { bookedFeeAtoms: atoms, feeBookings: feeBookings + 1 })
  })

export const setOutcome: typeof real.setOutcome = (tx, _chain, txid, outcome) =>
  run(tx, (tables) => change(tables, txid, { outcome, isOpen: false, bumpWanted: false }))

export const listImpossible: typeof real.listImpossible = (db, chain, depth) =>
  run(db, (tables) => {
    const height = existing(tables.chains, chain).tipHeight - depth + 1
    const lines = new Set<string>()
    for (const coin of tables.coins.values()) {
      const { reservedBy, spentBy, spentHeight, txid, index, blockHeight } = coin
      if (reservedBy === null || reservedBy !== coin.reservedFirstBy) continue
      if (tables.signed.get(reservedBy)?.outcome !== null) continue
      const isSpent =
        spentBy !== null &&
        spentHeight !== null &&
        spentHeight <= height &&
        tables.signed.get(spentBy)?.line !== reservedBy
      const deposit = tables.deposits.get(`${txid}:${index}`)
      const isReplaced =
        blockHeight === null &&
        deposit?.replacedHeight !== null &&
        deposit?.replacedHeight !== undefined &&
        deposit.replacedHeight <= height
      const maker = tables.signed.get(txid)
      const isUnmade =
        blockHeight === null &&
        (maker?.outcome === 'impossible' ||
          (maker?.outcome === 'displaced' &&
            lineOf(tables, maker.line).some(
              (member) =>
                member.outcome === 'confirmed' && member.blockHeight !== null && member.blockHeight <= height,
            )))
      if (isSpent || isReplaced || isUnmade) lines.add(reservedBy)
    }
    return [...lines]
  })

export const releaseCoins: typeof real.releaseCoins = (tx, _chain, line) =>
  run(tx, (tables) => {
    for (const coin of [...tables.coins.values()])
      if (coin.reservedBy === line)
        tables.coins.set(`${coin.txid}:${coin.index}`, { ...coin, reservedBy: null, reservedFirstBy: null })
  })

export const releaseAddedCoins: typeof real.releaseAddedCoins = (tx, _chain, mined) =>
  run(tx, (tables) => {
    const { createdAt } = existing(tables.signed, mined.txid)
    const later = new Set(
      lineOf(tables, mined.line)
        .filter((row) => row.createdAt > createdAt && row.outcome === 'displaced')
        .map(({ txid }) => txid),
    )
    for (const coin of [...tables.coins.values()])
      if (
        coin.reservedBy === mined.line &&
        coin.reservedFirstBy !== null &&
        later.has(coin.reservedFirstBy) &&
        coin.spentBy === null
      )
        tables.coins.set(`${coin.txid}:${coin.index}`, { ...coin, reservedBy: null, reservedFirstBy: null })
  })

export const wishBumps: typeof real.wishBumps = async () => 0

export const wishBump: typeof real.wishBump = (db, _chain, line) =>
  run(db, (tables) => {
    const row = tables.signed.get(line)
    if (!row || row.outcome !== null || row.blockHeight !== null) return false
    change(tables, line, { bumpWanted: true })
    return true
  })
