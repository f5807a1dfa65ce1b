import type * as real from '../../../src/approvals/approval-requests.sql.ts'

/** No merchant of the stories has a policy of approvals: nobody is asked, and nobody declines. */
export const wasDeclined: typeof real.wasDeclined = async () => false
