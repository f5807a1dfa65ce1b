/** Nobody approves anything in a story. */
import type * as real from '../../../src/signer/approvals/seen-approvals.sql.ts'

export const listUnjudged: typeof real.listUnjudged = async () => []
