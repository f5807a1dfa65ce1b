import { SENT_BY_CONTRACT } from '../../../src/core/ether-outputs.ts'
import { newId } from '../../../src/core/ids.ts'
import type { PaymentKey } from '../../../src/deposits/deposits.sql.ts'
import type * as real from '../../../src/deposits/record-sightings.sql.ts'
import { existing, run, type Tables } from './tables.ts'

export const recordSightings: typeof real.recordSightings = (tx, chain, sightings) =>
  run(tx, (tables) => {
    const touched: PaymentKey[] = []
    for (const sighting of sightings) {
      const { expiresAt, status } = existing(tables.payments, sighting.paymentId)
      const isOver = status === 'expired' || status === 'failed'
      const observed = isOver ? sighting : { ...sighting, seenAt: seenBefore(tables, sighting) }
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

/** What spends the same as a deposit of the payment that came in time, and pays no more, was seen with it, and so was what it renames. */
function seenBefore(tables: Tables, observed: real.Sighting): Date {
  const spends = (txKey: string) => [...tables.inputs.values()].filter((input) => input.txKey === txKey)
  const spent = new Set(spends(observed.txKey).map((input) => input.spent))
  const earlier = [...tables.deposits.values()].filter(
    (row) =>
      row.paymentId === observed.paymentId &&
      row.asset === observed.asset &&
      !row.late &&
      !row.dust &&
      ((row.amountAtoms >= observed.amountAtoms &&
        spends(row.txKey).some((input) => spent.has(input.spent))) ||
        (row.outputIndex === SENT_BY_CONTRACT &&
          observed.outputIndex === SENT_BY_CONTRACT &&
          row.replacedBy === observed.txKey)),
  )
  return earlier.reduce((first, row) => (row.seenAt < first ? row.seenAt : first), observed.seenAt)
}
