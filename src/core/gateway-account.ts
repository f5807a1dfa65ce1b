/** The gateway's own accounts, one for each mode: withdrawals of what it earned and was given are theirs. Nobody has a key to them. */
import type { Mode } from './assets.ts'
import type { AccountId } from './ids.ts'

export const GATEWAY_ACCOUNTS: Readonly<Record<Mode, AccountId>> = {
  live: '00000000-0000-0000-0000-000000000001' as AccountId,
  test: '00000000-0000-0000-0000-000000000002' as AccountId,
}

export const isGatewayAccount = (id: AccountId): boolean => Object.values(GATEWAY_ACCOUNTS).includes(id)
