import type { Payment } from '../../../src/payments/payment.ts'
import type * as real from '../../../src/withdrawals/refunds.sql.ts'
import { run, type Tables } from './tables.ts'

export const findRefund: typeof real.findRefund = (db, _accountId, paymentId) =>
  run(
    db,
    (tables) =>
      [...tables.withdrawals.values()].find(
        (each) => each.paymentId === paymentId && each.status !== 'failed',
      ) ?? null,
  )

export const listRefundIds: typeof real.listRefundIds = (db, _accountId, paymentId) =>
  run(db, (tables) =>
    [...tables.withdrawals.values()].filter((each) => each.paymentId === paymentId).map(({ id }) => id),
  )

export const readRefunds: typeof real.readRefunds = (db, payment) =>
  run(db, (tables) => refundsOf(tables, payment))

export function refundsOf(tables: Tables, { id, asset }: Pick<Payment, 'id' | 'asset'>): real.Refunds {
  const refunds = [...tables.withdrawals.values()].filter((each) => each.paymentId === id)
  const refundedAtoms = refunds
    .filter((each) => each.asset === asset && each.status !== 'failed')
    .reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n)
  return { refundedAtoms, wereAsked: refunds.length > 0 }
}
