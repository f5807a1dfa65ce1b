/** One watcher a chain: takes the lead when nobody has it, looks again and again, and steps back when another leads. */
import { hostname } from 'node:os'
import type { ChainPort } from '../chains/chain.ts'
import { type Lease, releaseLease, StaleLease, takeLease } from '../chains/chain-view.sql.ts'
import type { Gateway } from '../flows/gateway.ts'
import { meetChain, observeChain } from '../flows/watching/observe-chain.ts'
import { type Loop, startLoop } from './loop.ts'

/** @param options.idleMs - Pause between two looks at a chain that brought nothing new. */
export function startWatcher(gateway: Gateway, port: ChainPort, options: { idleMs?: number } = {}): Loop {
  const holder = `${hostname()}:${process.pid}`
  let met = false
  let lease: Lease | null = null

  const loop = startLoop({
    name: `watch ${port.chain}`,
    idleMs: options.idleMs ?? 1_000,
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
        if (error instanceof StaleLease) {
          lease = null
          gateway.log.info({ chain: port.chain }, 'another watcher leads this chain now')
          return false
        }
        throw error
      }
    },
  })
  const stopHints = port.onHint(loop.wake)
  return {
    wake: loop.wake,
    async stop() {
      stopHints()
      await loop.stop()
      if (lease) await releaseLease(gateway.db, lease)
    },
  }
}
