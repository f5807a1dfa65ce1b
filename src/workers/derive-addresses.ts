/** Keeps fresh addresses ahead of what payments take; notices a new wallet within seconds. */
import type { Log } from '../core/log.ts'
import type { Secrets } from '../core/secrets.ts'
import { openThread } from '../core/threads.ts'
import type { Database } from '../db/database.ts'
import {
  type DeriveRange,
  deriveHere,
  fillAddressPool,
  type PoolTarget,
} from '../wallets/address-pool.sql.ts'
import type { DerivedAddress } from '../wallets/derivation.ts'
import { type Loop, startLoop } from './loop.ts'

/** A burst of a thousand payments on one chain finds addresses; the thread derives about 10,000 more a second. */
const TARGET: PoolTarget = { fresh: 1_000, change: 20 }
/** Of every chain first, before the thread is up, so that all coins can be taken soon after the start. */
const FIRST: PoolTarget = { fresh: 50, change: 20 }
const IDLE_MS = 500
const THREAD = new URL('../wallets/derive.thread.ts', import.meta.url)

export function startAddressFiller(gateway: {
  readonly db: Database
  readonly secrets: Secrets
  readonly log: Log
}): Loop {
  const thread = openThread<DeriveRange, DerivedAddress[]>(THREAD)
  let target = FIRST
  const loop = startLoop({
    name: 'addresses',
    idleMs: IDLE_MS,
    log: gateway.log,
    turn: async () => {
      const isFirst = target === FIRST
      const derive = isFirst ? deriveHere : thread.run
      const added = await fillAddressPool(gateway.db, gateway.secrets, target, derive)
      if (added > 0) gateway.log.debug({ added }, 'derived fresh addresses')
      target = TARGET
      // A pool that lost half of itself within one turn is in demand.
      return isFirst || added > TARGET.fresh / 2
    },
  })
  return {
    wake: loop.wake,
    async stop() {
      await loop.stop()
      await thread.close()
    },
  }
}
