import { isInTime, paysFor } from '../../../src/deposits/received.ts'
import type * as real from '../../../src/flows/payments/windows-over.sql.ts'
import type { Payment } from '../../../src/payments/payment.ts'
import { refundsOf } from './refunds.sql.ts'
import { run } from './tables.ts'

/** Every coin of the simulated chains has a transaction. */
export const mayHaveEtherUnseen: typeof real.mayHaveEtherUnseen = async () => false

export const markWindowsOver: typeof real.markWindowsOver = (tx, limit) =>
  run(tx, (tables) => {
    const now = tables.now()
    const isLeft = (payment: Payment): boolean => {
      const paying = [...tables.deposits.values()].filter(
        (deposit) => deposit.paymentId === payment.id && paysFor(deposit, payment),
      )
      const inTime = paying
        .filter((deposit) => isInTime(deposit, payment))
        .reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n)
      const needed = payment.dueAtoms - payment.toleratedAtoms + refundsOf(tables, payment).refundedAtoms
      return (
        inTime === 0n ||
        (payment.settlements === 0 && paying.some(({ status }) => status === 'confirmed') && inTime < needed)
      )
    }
    const over = [...tables.payments.values()].filter(
      (payment) =>
        (payment.status === 'pending' || payment.status === 'detected') &&
        !tables.decisionsDue.has(payment.id) &&
        payment.expiresAt < now &&
        (tables.chains.get(payment.chain)?.polledAt ?? new Date(0)) > payment.expiresAt &&
        (payment.status === 'pending' || isLeft(payment)),
    )
    for (const { id } of over.slice(0, limit)) tables.decisionsDue.set(id, true)
    return Math.min(over.length, limit)
  })
