import type * as real from '../../../src/flows/payments/record-payment.sql.ts'
import { announceCause } from './announce.sql.ts'
import { existing, hex, run } from './tables.ts'

/** Simulated payments are made one at a time, and without a key: nothing is different by now. */
export const insertPaymentRecord: typeof real.insertPaymentRecord = (tx, { payment, fresh, event }) =>
  run(tx, (tables) => {
    const row = existing(tables.addresses, hex(fresh.lookup))
    tables.addresses.set(hex(fresh.lookup), {
      ...row,
      accountId: payment.accountId,
      paymentId: payment.id,
    })
    tables.payments.set(payment.id, payment)
    announceCause(tables, event)
    return { taken: false, deliveries: 0 }
  })
