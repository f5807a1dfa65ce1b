import type * as real from '../../../src/flows/watching/check-ether.sql.ts'

/** The simulated chains show every coin's transaction: nothing is ever looked for besides. */
const never = async (): Promise<never> => {
  throw new Error('simulated ether has a transaction of its own')
}
export const isEtherCheckDue: typeof real.isEtherCheckDue = async () => false
export const markEtherChecked: typeof real.markEtherChecked = never
export const markEtherUnchecked: typeof real.markEtherUnchecked = async () => {}
export const listRecordedEther: typeof real.listRecordedEther = never
