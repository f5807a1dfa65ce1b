import type * as real from '../../../src/flows/watching/check-ether.sql.ts'

/** The simulated chains show every coin's transaction: nothing is ever looked for besides. */
export const askEtherCheck: typeof real.askEtherCheck = async () => {}
