import type * as real from '../../../src/proof/address-spends.sql.ts'

/** What the house's own proof reads; a story in memory has a proof of its own. */
export const recordAddressSpends: typeof real.recordAddressSpends = async () => {}
