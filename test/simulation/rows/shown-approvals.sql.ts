/** A signer that nobody approves anything for shows nothing. */
import type * as real from '../../../src/signer/approvals/shown-approvals.sql.ts'

export const readShown: typeof real.readShown = async () => ({ pins: [], policies: [], addresses: [] })
