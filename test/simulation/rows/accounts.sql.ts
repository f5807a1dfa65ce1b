import type * as real from '../../../src/accounts/accounts.sql.ts'
import { GATEWAY_ACCOUNTS } from '../../../src/core/gateway-account.ts'
import { existing, run } from './tables.ts'

export const findAccount: typeof real.findAccount = (db, id) =>
  run(db, (tables) => tables.accounts.get(id) ?? null)

/** One transaction runs at a time: every row is locked. */
export const lockGatewayAccount: typeof real.lockGatewayAccount = (tx, mode) =>
  run(tx, (tables) => {
    const id = GATEWAY_ACCOUNTS[mode]
    const [any] = tables.accounts.values()
    if (!tables.accounts.has(id) && any) tables.accounts.set(id, { ...any, id, mode })
    return existing(tables.accounts, id)
  })
