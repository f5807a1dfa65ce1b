import { SENT_BY_CONTRACT } from '../../../src/core/ether-outputs.ts'
import type * as real from '../../../src/deposits/deposits.sql.ts'
import { type DepositRow, run, type Tables } from './tables.ts'

const keyOf = (row: { txKey: string; outputIndex: number }): string => `${row.txKey}:${row.outputIndex}`

/** Changes every deposit that a condition meets. @returns The payments they belong to, each row's once. */
function change(
  tables: Tables,
  isMet: (row: DepositRow) => boolean,
  to: (row: DepositRow) => Partial<DepositRow>,
): real.PaymentKey[] {
  const met = [...tables.deposits.values()].filter(isMet)
  for (const row of met) {
    const after = { ...row, ...to(row) }
    tables.deposits.set(keyOf(row), after)
    if (after.status === 'dropped' || after.status === 'replaced') tables.bereft.add(row.paymentId)
  }
  return met.map(({ accountId, paymentId }) => ({ accountId, paymentId }))
}

export const listDeposits: typeof real.listDeposits = (db, accountId, paymentId) =>
  run(db, (tables) =>
    [...tables.deposits.values()]
      .filter((row) => row.accountId === accountId && row.paymentId === paymentId)
      .sort((a, b) => a.seenAt.getTime() - b.seenAt.getTime()),
  )

export const recordInputs: typeof real.recordInputs = (tx, _chain, spends) =>
  run(tx, (tables) => {
    for (const { txKey, spentTx, spentIndex } of spends) {
      const spent = `${spentTx}:${spentIndex}`
      tables.inputs.set(`${spent} ${txKey}`, { spent, spentTx, txKey })
    }
  })

export const markReplaced: typeof real.markReplaced = (tx, _chain, spends, blockHeight) =>
  run(tx, (tables) => {
    const replaced: real.PaymentKey[] = []
    for (const { txKey, spentTx, spentIndex } of spends) {
      const rivals = new Set(
        [...tables.inputs.values()]
          .filter((input) => input.spent === `${spentTx}:${spentIndex}` && input.txKey !== txKey)
          .map((input) => input.txKey),
      )
      if (rivals.size === 0) continue
      replaced.push(
        ...change(
          tables,
          (row) =>
            rivals.has(row.txKey) &&
            row.blockHeight === null &&
            (row.status !== 'replaced' || (blockHeight !== null && row.replacedHeight !== blockHeight)),
          () => ({ status: 'replaced', replacedBy: txKey, replacedHeight: blockHeight }),
        ),
      )
    }
    return replaced
  })

export const markRenamedByBlock: typeof real.markRenamedByBlock = (tx, _chain, address, txKey) =>
  run(tx, (tables) => {
    change(
      tables,
      (row) =>
        row.address === address &&
        row.outputIndex === SENT_BY_CONTRACT &&
        row.txKey !== txKey &&
        row.blockHeight === null &&
        row.status === 'reorganised',
      () => ({ status: 'replaced', replacedBy: txKey }),
    )
  })

export const listDepositsInNoBlock: typeof real.listDepositsInNoBlock = (db) =>
  run(db, (tables) =>
    [...tables.deposits.values()]
      .filter((row) => row.blockHeight === null && ['seen', 'reorganised', 'dropped'].includes(row.status))
      .map(({ txKey, status }) => ({ txKey, status })),
  )

const HOUR_MS = 3_600_000

export const markMempoolPresence: typeof real.markMempoolPresence = (tx, _chain, present, absent) =>
  run(tx, (tables) => {
    const now = tables.now()
    const back = change(
      tables,
      (row) =>
        present.includes(row.txKey) &&
        row.blockHeight === null &&
        (row.missingSince !== null || row.status === 'reorganised' || row.status === 'dropped'),
      () => ({ status: 'seen', missingSince: null }),
    )
    const isWaiting = (row: DepositRow) =>
      row.blockHeight === null && (row.status === 'seen' || row.status === 'reorganised')
    change(
      tables,
      (row) => absent.includes(row.txKey) && isWaiting(row) && row.missingSince === null,
      () => ({ missingSince: now }),
    )
    const dropped = change(
      tables,
      (row) =>
        isWaiting(row) && row.missingSince !== null && row.missingSince.getTime() < now.getTime() - HOUR_MS,
      () => ({ status: 'dropped' }),
    )
    return [...back, ...dropped]
  })

export const listPaymentsReachingConfirmations: typeof real.listPaymentsReachingConfirmations = (
  tx,
  _chain,
  tipHeight,
) =>
  run(tx, (tables) =>
    [...tables.deposits.values()]
      .filter(
        (row) =>
          row.status === 'seen' &&
          row.blockHeight !== null &&
          row.blockHeight <= tipHeight - row.requiredConfirmations + 1,
      )
      .map(({ accountId, paymentId }) => ({ accountId, paymentId })),
  )

export const forgetBuriedInputs: typeof real.forgetBuriedInputs = (tx, _chain, height) =>
  run(tx, (tables) => {
    const buried = new Set(
      [...tables.deposits.values()]
        .filter((row) => row.blockHeight === height || row.replacedHeight === height)
        .map((row) => row.txKey),
    )
    if (buried.size === 0) return
    for (const [key, input] of [...tables.inputs.keys()].map(
      (each) => [each, tables.inputs.get(each)] as const,
    ))
      if (input && buried.has(input.txKey)) tables.inputs.delete(key)
  })

export const markConfirmed: typeof real.markConfirmed = (tx, of) =>
  run(tx, (tables) => {
    change(
      tables,
      (row) => row.id === of.id,
      () => ({ status: 'confirmed' }),
    )
  })

export const markBooked: typeof real.markBooked = (tx, of, booked) =>
  run(tx, (tables) => {
    change(
      tables,
      (row) => row.id === of.id,
      (row) => ({
        booked,
        bookings: row.bookings + (booked ? 1 : 0),
        status: booked ? 'confirmed' : row.status,
      }),
    )
    if (!booked) for (const [key, row] of tables.deposits) if (row.id === of.id) tables.sweptBy.delete(key)
  })

/** Nobody gives gas in a story: nothing of ours is taken for a deposit. */
export const markOwn: typeof real.markOwn = async () => []
