/** Keeps fresh addresses ahead of what payments take; notices a new wallet within seconds. */
import type { ChainName } from '../core/assets.ts'
import { openThread } from '../core/threads.ts'
import type { Gateway } from '../flows/gateway.ts'
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
/**
 * A chain that used a quarter of its pool within one turn gets twice as many, up to seconds of the busiest shop; less than
 * what `beck wallet find` looks past.
 */
const FRESH_MAX = 4_000
const IDLE_MS = 500
const THREAD = new URL('../wallets/derive.thread.ts', import.meta.url)

export function startAddressFiller({ db, secrets, log }: Pick<Gateway, 'db' | 'secrets' | 'log'>): Loop {
  const thread = openThread<DeriveRange, DerivedAddress[]>(THREAD)
  const targets = new Map<ChainName, PoolTarget>()
  /** How many fresh ones each chain had after the last turn. */
  const had = new Map<ChainName, number>()
  let isFirst = true
  const loop = startLoop({
    name: 'addresses',
    idleMs: IDLE_MS,
    log,
    turn: async () => {
      const wasFirst = isFirst
      isFirst = false
      const target = (chain: ChainName) => (wasFirst ? FIRST : (targets.get(chain) ?? TARGET))
      const added = await fillAddressPool(db, secrets, target, wasFirst ? deriveHere : thread.run)
      for (const [chain, count] of added) {
        if (count > 0) log.debug({ chain, added: count }, 'derived fresh addresses')
        const { fresh, change } = target(chain)
        const before = had.get(chain)
        const used = before === undefined ? 0 : count - (fresh - before)
        if (used > fresh / 4) targets.set(chain, { fresh: Math.min(FRESH_MAX, fresh * 2), change })
        had.set(chain, fresh)
      }
      return wasFirst
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
