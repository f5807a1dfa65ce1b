import type * as real from '../../../src/payments/payments.sql.ts'
import { existing, run } from './tables.ts'

export const findPayment: typeof real.findPayment = (db, _accountId, id) =>
  run(db, (tables) => tables.payments.get(id) ?? null)

/** One transaction runs at a time: every row is locked. */
export const lockPayment: typeof real.lockPayment = (tx, accountId, id) => findPayment(tx, accountId, id)

export const lockPayments: typeof real.lockPayments = async () => {}

export const updatePayment: typeof real.updatePayment = (tx, payment, decided) =>
  run(tx, (tables) => {
    if (decided) tables.decisionsDue.delete(payment.id)
    // The end of the window is not among what a payment's life changes.
    const { expiresAt } = existing(tables.payments, payment.id)
    tables.payments.set(payment.id, { ...payment, expiresAt })
  })

export const recordAccepted: typeof real.recordAccepted = (tx, { id }, accepted) =>
  run(tx, (tables) => {
    tables.payments.set(id, { ...existing(tables.payments, id), accepted })
  })

export const markDecisionDue: typeof real.markDecisionDue = (tx, payments) =>
  run(tx, (tables) => {
    for (const { paymentId } of payments) tables.decisionsDue.set(paymentId, true)
  })

export const claimDecisions: typeof real.claimDecisions = (tx, limit, except = []) =>
  run(tx, (tables) => {
    const ids = [...tables.decisionsDue.keys()].filter(
      (each) => !(except as readonly string[]).includes(each),
    )
    return ids.slice(0, limit).map((id) => {
      const payment = existing(tables.payments, id)
      const { accountId, checkoutSessionId } = payment
      return { accountId, paymentId: payment.id, checkoutSessionId }
    })
  })
