import type * as real from '../../../src/withdrawals/receipts.sql.ts'

/** Nobody sends anything to the hot wallet of a simulated gateway. */
export const recordReceipts: typeof real.recordReceipts = async () => {}
export const forgetReceipts: typeof real.forgetReceipts = async () => {}
export const listUnbookedCapital: typeof real.listUnbookedCapital = async () => []
