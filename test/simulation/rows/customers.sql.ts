import type * as real from '../../../src/payments/customers.sql.ts'

/** Simulated buyers give no email. */
export const upsertCustomer: typeof real.upsertCustomer = async () => {
  throw new Error('simulated payments have no customer')
}
export const adjustCustomer: typeof real.adjustCustomer = async () => {
  throw new Error('simulated payments have no customer')
}
