/**
 * One watcher a chain: takes the lead when nobody has it, polls again and again, and steps back when another leads.
 * Beside the polls it compares what addresses hold, which takes long where there are many.
 */
import { hostname } from 'node:os'
import type { ChainPort } from '../chains/chain.ts'
import { type Lease, releaseLease, StaleLease, takeLease } from '../chains/chain-progress.sql.ts'
import { SECOND_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { checkEther } from '../flows/watching/check-ether.ts'
import { meetChain, observeChain } from '../flows/watching/observe-chain.ts'
import { type Loop, startLoop } from './loop.ts'

/** A comparison is due once a day, or after blocks were lost: nobody waits for its first page. */
const ETHER_CHECK_IDLE_MS = 5 * SECOND_MS

/** @param options.idleMs - Pause between two polls of a chain that brought nothing new. */
export function startWatcher(gateway: Gateway, port: ChainPort, options: { idleMs?: number } = {}): Loop {
  const holder = `${hostname()}:${process.pid}`
  let met = false
  let lease: Lease | null = null
  const stepBack = (stale: Lease | null) => {
    if (lease === stale) lease = null
    gateway.log.info({ chain: port.chain }, 'another watcher leads this chain now')
    return false
  }

  const polls = startLoop({
    name: `watch ${port.chain}`,
    idleMs: options.idleMs ?? SECOND_MS,
    log: gateway.log,
    async turn() {
      try {
        if (!met) {
          await meetChain(gateway, port)
          met = true
        }
        lease ??= await takeLease(gateway.db, port.chain, holder)
        if (!lease) return false
        return (await observeChain(gateway, port, lease)).behind
      } catch (error) {
        // A node that comes back may be another one: ask again who it is.
        met = false
        if (error instanceof StaleLease) return stepBack(lease)
        throw error
      }
    },
  })
  const checks =
    port.etherAt &&
    startLoop({
      name: `check ether ${port.chain}`,
      idleMs: Math.min(ETHER_CHECK_IDLE_MS, options.idleMs ?? ETHER_CHECK_IDLE_MS),
      log: gateway.log,
      async turn() {
        const held = lease
        try {
          return held !== null && (await checkEther(gateway, port, held))
        } catch (error) {
          if (error instanceof StaleLease) return stepBack(held)
          throw error
        }
      },
    })
  const stopHints = port.onHint(polls.wake)
  return {
    wake: polls.wake,
    async stop() {
      stopHints()
      await Promise.all([polls.stop(), checks?.stop()])
      if (lease) await releaseLease(gateway.db, lease)
    },
  }
}
