import type * as real from '../../../src/payments/daily-payments.sql.ts'

/** No story asks how many payments a day brought. */
export const countPaymentsOfDayBefore: typeof real.countPaymentsOfDayBefore = async () => {}
