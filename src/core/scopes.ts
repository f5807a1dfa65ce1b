/** What a key may be allowed to do; the contract has these and no others. */
export const SCOPES = [
  'payments:read',
  'payments:write',
  'customers:read',
  'customers:write',
  'balance:read',
  'withdrawals:read',
  'withdrawals:write',
  'payment_links:read',
  'payment_links:write',
  'webhooks:read',
  'webhooks:write',
] as const
export type Scope = (typeof SCOPES)[number]
