/**
 * One watcher a chain: takes the lead when nobody has it, polls again and again, and steps back when another leads. It gives the
 * lead back when a turn fails, as when its node does not answer: another one may have a better node.
 * Beside the polls it compares what addresses hold, which takes long where there are many.
 */
import { hostname } from 'node:os'
import { raiseAlert } from '../alerts/alerts.sql.ts'
import type { ChainPort } from '../chains/chain.ts'
import { type Lease, releaseLease, StaleLease, takeLease } from '../chains/chain-progress.sql.ts'
import { type ChainName, isSimulated } from '../core/assets.ts'
import { TamperedRow } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import { watchSpareTime } from '../core/spare-time.ts'
import { SECOND_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { checkEther } from '../flows/watching/check-ether.ts'
import { meetChain, observeChain } from '../flows/watching/observe-chain.ts'
import { type Loop, restAfter, startLoop } from './loop.ts'

/** A comparison is due once a day, or after blocks were lost: nobody waits for its first page. */
const ETHER_CHECK_IDLE_MS = 5 * SECOND_MS
/** Blocks of a simulated chain cost nothing to make: whoever mines hundreds at once leaves the others room to work. */
const SIMULATED_PACE = { blocks: 10, pauseMs: 50 }

/** @param options.idleMs - Pause between two polls of a chain that brought nothing new. */
export function startWatcher(gateway: Gateway, port: ChainPort, options: { idleMs?: number } = {}): Loop {
  const { idleMs = SECOND_MS } = options
  const takeLead = leadOf(gateway, port.chain)
  const spareTime = watchSpareTime()
  let met = false
  let lease: Lease | null = null
  const stepBack = (stale: Lease | null) => {
    if (lease === stale) lease = null
    gateway.log.info({ chain: port.chain }, 'the lead of this chain is over')
    return false
  }
  const fail = (error: unknown) => tellAndThrow(gateway, port.chain, error)

  const polls = startLoop({
    name: `watch ${port.chain}`,
    idleMs,
    // Who waits for the lead looks for it meanwhile.
    failureMsMin: 2 * idleMs,
    // Whoever has a test key can wake it as often as he likes.
    ...(isSimulated(port.chain) && { restMs: restAfter }),
    log: gateway.log,
    async turn(signal) {
      try {
        if (!met) {
          await meetChain(gateway, port)
          met = true
        }
        lease ??= await takeLead()
        if (!lease) return false
        const paced = isSimulated(port.chain) && SIMULATED_PACE
        const { behind, blocks } = await observeChain(gateway, port, lease, {
          ...(paced && { blocksMax: paced.blocks }),
          spareTime,
        })
        if (behind && paced) await pause(paced.pauseMs, signal)
        return behind && blocks > 0
      } catch (error) {
        // A node that comes back may be another one: ask again who it is.
        met = false
        if (error instanceof StaleLease) return stepBack(lease)
        if (lease && (await gaveBack(gateway, lease))) lease = null
        return fail(error)
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
          return error instanceof StaleLease ? stepBack(held) : fail(error)
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

/** Takes the lead as one who remembers the lease that he had before. */
function leadOf({ db }: Gateway, chain: ChainName): () => Promise<Lease | null> {
  const holder = `${hostname()}:${process.pid}`
  let last: Lease | null = null
  return async () => {
    const lease = await takeLease(db, chain, holder, last)
    last = lease ?? last
    return lease
  }
}

/** For whoever can follow the chain, at its next turn this one too. @returns False when it keeps the lead, while that lasts. */
const gaveBack = ({ db }: Gateway, lease: Lease): Promise<boolean> =>
  releaseLease(db, lease).then(
    () => true,
    () => false,
  )

/** What somebody tampered with is told to the operator. */
async function tellAndThrow(gateway: Gateway, chain: ChainName, error: unknown): Promise<never> {
  if (error instanceof TamperedRow)
    await raiseAlert(gateway.db, {
      kind: 'row_tampered',
      accountId: null,
      subject: chain,
      message: `${error.message}. ${chain} is not followed until the row is gone or as it was; find out who writes the database`,
    })
  throw error
}
