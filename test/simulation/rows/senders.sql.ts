import type * as real from '../../../src/withdrawals/senders.sql.ts'

/** Chains with outputs have no senders. */
export const raiseNonce: typeof real.raiseNonce = async () => {}
export const storeBalances: typeof real.storeBalances = async () => {}
