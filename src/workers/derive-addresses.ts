/** Keeps fresh addresses ahead of what payments take; notices a new wallet within seconds. */
import type { Log } from '../core/log.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database } from '../db/database.ts'
import { fillAddressPool, type PoolTarget } from '../wallets/address-pool.sql.ts'
import { type Loop, startLoop } from './loop.ts'

/** A burst of five hundred payments on one chain finds addresses; a core derives about 1,500 more a second. */
const TARGET: PoolTarget = { fresh: 500, change: 20 }
const IDLE_MS = 1_000

export function startAddressFiller(gateway: {
  readonly db: Database
  readonly secrets: Secrets
  readonly log: Log
}): Loop {
  return startLoop({
    name: 'addresses',
    idleMs: IDLE_MS,
    log: gateway.log,
    turn: async () => {
      const added = await fillAddressPool(gateway.db, gateway.secrets, TARGET)
      if (added > 0) gateway.log.debug({ added }, 'derived fresh addresses')
      // A pool that lost half of itself within one turn is in demand.
      return added > TARGET.fresh / 2
    },
  })
}
