/**
 * One payer a chain: sends what the signer signed and keeps its view of the chain fresh; beside that it follows what was sent
 * to its end, so that a slow search for one transaction holds no other up.
 */
import type { ChainPort } from '../chains/chain.ts'
import type { Aside } from '../core/aside.ts'
import { networkOfChain } from '../core/assets.ts'
import { OutsideFailure, withoutCredentials } from '../core/errors.ts'
import type { WithdrawalId } from '../core/ids.ts'
import { MINUTE_MS, SECOND_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { bookCapital } from '../flows/treasury/book-capital.ts'
import { bumpSweeps, planSweeps } from '../flows/treasury/sweep-deposits.ts'
import { refreshFeeRates, refreshSenders } from '../flows/treasury/tend-senders.ts'
import { broadcastSigned } from '../flows/withdrawals/broadcast-withdrawal.ts'
import { confirmSigned } from '../flows/withdrawals/confirm-withdrawal.ts'
import { failRefused } from '../flows/withdrawals/fail-withdrawal.ts'
import { rehearsePayouts } from '../flows/withdrawals/rehearse-payouts.ts'
import type { NetworkRates } from '../treasury/fees.ts'
import { wishBumps } from '../treasury/signed-transactions.sql.ts'
import { joined, type Loop, startLoop } from './loop.ts'

/** How long a transaction may wait for a block before it offers what the network asks for. */
const BUMP_AFTER_MS = { bitcoin: 30 * MINUTE_MS, litecoin: 10 * MINUTE_MS, ethereum: 3 * MINUTE_MS } as const
const RATES_AGE_MS = 15 * SECOND_MS
/** Without a new block, places are looked up again only so often: replacements and drops are rare. */
const POLL_AGAIN_MS = 10 * SECOND_MS

export function startPayer(gateway: Gateway, port: ChainPort, options: { idleMs?: number } = {}): Loop {
  const seen: ChainMemory = {
    rates: null,
    ratesAtMs: Number.NEGATIVE_INFINITY,
    tipHash: '',
    polledAtMs: Number.NEGATIVE_INFINITY,
    aside: new Map(),
  }
  const idleMs = options.idleMs ?? 500
  const follows = startLoop({
    name: `follow payouts ${port.chain}`,
    idleMs,
    log: gateway.log,
    turn: () => followTurn(gateway, port, seen),
  })
  const sends = startLoop({
    name: `pay-out ${port.chain}`,
    idleMs,
    log: gateway.log,
    async turn() {
      if ((await sendTurn(gateway, port, seen)) > 0) {
        seen.tipHash = ''
        follows.wake()
      }
      return false
    },
  })
  return joined([sends, follows])
}

interface ChainMemory {
  rates: NetworkRates | null
  /** By `performance.now()`, as `polledAtMs` is. */
  ratesAtMs: number
  tipHash: string
  polledAtMs: number
  /** Of {@link failRefused}. */
  readonly aside: Aside<WithdrawalId>
}

/** Sending waits for nobody who looks where earlier transactions are. @returns How many were sent. */
async function sendTurn(gateway: Gateway, port: ChainPort, seen: ChainMemory): Promise<number> {
  if (gateway.stopped?.()) return 0
  await failRefused(gateway, seen.aside)
  const rates = await ratesNow(gateway, port, seen)
  const sent = await broadcastSigned(gateway, port)
  if (rates) await rehearsePayouts(gateway, port, rates)
  return sent
}

async function followTurn(gateway: Gateway, port: ChainPort, seen: ChainMemory): Promise<boolean> {
  if (gateway.stopped?.()) return false
  const tip = await port.tip()
  if (tip.hash === seen.tipHash && performance.now() - seen.polledAtMs < POLL_AGAIN_MS) return false
  // Before the look: what is sent meanwhile asks for another one.
  seen.tipHash = tip.hash
  try {
    await pollPayouts(gateway, port, await ratesNow(gateway, port, seen))
  } catch (error) {
    seen.tipHash = ''
    throw error
  }
  seen.polledAtMs = performance.now()
  return false
}

/** Everything that a new block may change. @param rates - Without them nothing is planned that costs a fee. */
export async function pollPayouts(
  gateway: Gateway,
  port: ChainPort,
  rates: NetworkRates | null,
): Promise<void> {
  const { chain } = port
  await confirmSigned(gateway, port)
  await bookCapital(gateway, chain)
  const network = networkOfChain(chain)
  if (network === 'ethereum' && rates) await sweepIfPossible(gateway, port, rates)
  // After the places of our transactions, so that what left is never counted as still there.
  await refreshSenders(gateway, port)
  if (!rates) return
  const rate = network === 'ethereum' ? rates.rate + rates.priorityRate : rates.rate
  const afterMs = BUMP_AFTER_MS[network]
  const ofSweeps = network === 'ethereum' ? await bumpSweeps(gateway, chain, rates, afterMs) : 0
  const wished = ofSweeps + (await wishBumps(gateway.db, chain, { afterMs, rate }))
  if (wished > 0) gateway.log.info({ chain, wished }, 'transactions wait too long and should pay more')
}

/** Payouts go on with what the hot wallet holds, whatever keeps sweeps from being planned. */
async function sweepIfPossible(gateway: Gateway, port: ChainPort, rates: NetworkRates): Promise<void> {
  try {
    await planSweeps(gateway, port, rates)
  } catch (error) {
    const { chain } = port
    // A node that fails says why; anything else is a fault of ours, with all that is known of it.
    if (error instanceof OutsideFailure)
      gateway.log.error({ chain, reason: withoutCredentials(error.message) }, 'sweeps can not be planned now')
    else gateway.log.error({ chain, err: error }, 'sweeps can not be planned')
  }
}

async function ratesNow(gateway: Gateway, port: ChainPort, seen: ChainMemory): Promise<NetworkRates | null> {
  if (performance.now() - seen.ratesAtMs < RATES_AGE_MS) return seen.rates
  seen.rates = await refreshFeeRates(gateway, port)
  seen.ratesAtMs = performance.now()
  return seen.rates
}
