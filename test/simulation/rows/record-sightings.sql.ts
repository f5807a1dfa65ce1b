import { SENT_BY_CONTRACT } from '../../../src/core/ether-outputs.ts'
import { newId } from '../../../src/core/ids.ts'
import { larger } from '../../../src/core/money.ts'
import type { PaymentKey } from '../../../src/deposits/deposits.sql.ts'
import type * as real from '../../../src/deposits/record-sightings.sql.ts'
import { type DepositRow, existing, run, type Tables } from './tables.ts'

export const recordSightings: typeof real.recordSightings = (tx, chain, sightings) =>
  run(tx, (tables) => {
    const touched: PaymentKey[] = []
    for (const sighting of sightings) {
      const { expiresAt, status } = existing(tables.payments, sighting.paymentId)
      const isOver = status === 'expired' || status === 'failed'
      const paid = sightings
        .filter(
          (each) =>
            each.txKey === sighting.txKey &&
            each.paymentId === sighting.paymentId &&
            each.asset === sighting.asset,
        )
        .reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n)
      const observed = isOver ? sighting : { ...sighting, seenAt: seenBefore(tables, sighting, paid) }
      const key = `${observed.txKey}:${observed.outputIndex}`
      const known = tables.deposits.get(key)
      const { accountId, paymentId, block } = observed
      if (known && tables.mutation !== 'deposit-counted-twice') {
        const isNews = block
          ? known.blockHash !== block.hash
          : known.blockHeight === null && ['reorganised', 'dropped', 'replaced'].includes(known.status)
        if (!isNews) continue
        const seenAt = known.seenAt < observed.seenAt ? known.seenAt : observed.seenAt
        tables.deposits.set(key, {
          ...known,
          status: 'seen',
          blockHeight: block?.height ?? null,
          blockHash: block?.hash ?? null,
          seenAt,
          late: known.late && (seenAt > expiresAt || isOver),
          replacedBy: null,
          replacedHeight: null,
          missingSince: null,
        })
      } else {
        const late = observed.seenAt > expiresAt || isOver
        // A key of its own each time: what a table without its unique key would take.
        tables.deposits.set(known ? `${key}:${tables.deposits.size}` : key, {
          accountId,
          id: newId('dep'),
          paymentId,
          chain,
          asset: observed.asset,
          txKey: observed.txKey,
          txHash: observed.txHash,
          outputIndex: observed.outputIndex,
          address: observed.address,
          amountAtoms: observed.amountAtoms,
          status: 'seen',
          blockHeight: block?.height ?? null,
          blockHash: block?.hash ?? null,
          requiredConfirmations: observed.requiredConfirmations,
          seenAt: observed.seenAt,
          late,
          sightedMinor: late ? observed.sightedMinor : null,
          dust: observed.dust,
          mac: observed.mac,
          bookings: 0,
          booked: false,
          replacedBy: null,
          replacedHeight: null,
          missingSince: null,
        })
      }
      touched.push({ accountId, paymentId })
    }
    return touched
  })

/**
 * What spends all that another transaction spent, and pays the payment no more than it did in time, was seen with it; so was what
 * it renames.
 */
function seenBefore(tables: Tables, observed: real.Sighting, paidAtoms: bigint): Date {
  const spends = (txKey: string) =>
    [...tables.inputs.values()].filter((input) => input.txKey === txKey).map(({ spent }) => spent)
  const own = new Set(spends(observed.txKey))
  const inTime = [...tables.deposits.values()].filter(
    (row) => row.paymentId === observed.paymentId && row.asset === observed.asset && !row.late && !row.dust,
  )
  const isReplaced = (txKey: string): boolean => {
    const theirs = spends(txKey)
    // Under one name a place may have held several sums.
    const places = Map.groupBy(
      inTime.filter((row) => row.txKey === txKey),
      (row) => row.outputIndex,
    )
    const paid = [...places.values()].map((rows) =>
      rows.reduce((most, { amountAtoms }) => larger(most, amountAtoms), 0n),
    )
    return (
      theirs.length > 0 &&
      theirs.every((spent) => own.has(spent)) &&
      paid.reduce((sum, atoms) => sum + atoms, 0n) >= paidAtoms
    )
  }
  const isRenamed = (row: DepositRow): boolean =>
    row.outputIndex === SENT_BY_CONTRACT &&
    observed.outputIndex === SENT_BY_CONTRACT &&
    row.replacedBy === observed.txKey
  return inTime
    .filter((row) => isReplaced(row.txKey) || isRenamed(row))
    .reduce((first, row) => (row.seenAt < first ? row.seenAt : first), observed.seenAt)
}
