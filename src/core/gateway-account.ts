/** What is the gateway's own, and no merchant's. Nobody has a key to it. */
import type { Mode } from './assets.ts'
import type { AccountId } from './ids.ts'

/** Owner of entries that concern no merchant: operator capital, sweeping gas. */
export const GATEWAY = '00000000-0000-0000-0000-000000000000' as AccountId

/** One for each mode: withdrawals of what it earned and was given are theirs. */
export const GATEWAY_ACCOUNTS: Readonly<Record<Mode, AccountId>> = {
  live: '00000000-0000-0000-0000-000000000001' as AccountId,
  test: '00000000-0000-0000-0000-000000000002' as AccountId,
}

export const isGatewayAccount = (id: AccountId): boolean => Object.values(GATEWAY_ACCOUNTS).includes(id)
