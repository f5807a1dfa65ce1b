/** One payer a chain: sends what the signer signed, follows it to its end, keeps the signer's view of the chain fresh. */
import type { ChainPort } from '../chains/chain.ts'
import { networkOfChain } from '../core/assets.ts'
import { withoutCredentials } from '../core/errors.ts'
import { MINUTE_MS, SECOND_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { bookCapital } from '../flows/treasury/book-capital.ts'
import { planSweeps } from '../flows/treasury/sweep-deposits.ts'
import { refreshFeeRates, refreshSenders } from '../flows/treasury/tend-senders.ts'
import { broadcastSigned } from '../flows/withdrawals/broadcast-withdrawal.ts'
import { confirmSigned } from '../flows/withdrawals/confirm-withdrawal.ts'
import { failRefused } from '../flows/withdrawals/fail-withdrawal.ts'
import type { NetworkRates } from '../treasury/fees.ts'
import { wishBumps } from '../treasury/signed-transactions.sql.ts'
import { type Loop, startLoop } from './loop.ts'

/** How long a transaction may wait for a block before it offers what the network asks for. */
const BUMP_AFTER_MS = { bitcoin: 30 * MINUTE_MS, litecoin: 10 * MINUTE_MS, ethereum: 3 * MINUTE_MS } as const
const RATES_AGE_MS = 15 * SECOND_MS
/** Without a new block, places are looked up again only so often: replacements and drops are rare. */
const LOOK_AGAIN_MS = 10 * SECOND_MS

export function startPayer(gateway: Gateway, port: ChainPort, options: { idleMs?: number } = {}): Loop {
  const seen: ChainMemory = { rates: null, ratesAtMs: 0, tipHash: '', lookedAtMs: 0 }
  return startLoop({
    name: `pay-out ${port.chain}`,
    idleMs: options.idleMs ?? 500,
    log: gateway.log,
    turn: () => payTurn(gateway, port, seen),
  })
}

interface ChainMemory {
  rates: NetworkRates | null
  ratesAtMs: number
  tipHash: string
  lookedAtMs: number
}

async function payTurn(gateway: Gateway, port: ChainPort, seen: ChainMemory): Promise<boolean> {
  await failRefused(gateway)
  const rates = await ratesNow(gateway, port, seen)
  const sent = await broadcastSigned(gateway, port)
  const tip = await port.tip()
  const isNews = tip.hash !== seen.tipHash || sent > 0
  if (!isNews && Date.now() - seen.lookedAtMs < LOOK_AGAIN_MS) return false
  await payLook(gateway, port, rates)
  seen.tipHash = tip.hash
  seen.lookedAtMs = Date.now()
  return false
}

/** Everything that a new block may change. */
export async function payLook(gateway: Gateway, port: ChainPort, rates: NetworkRates): Promise<void> {
  const { chain } = port
  await confirmSigned(gateway, port)
  await bookCapital(gateway, chain)
  const network = networkOfChain(chain)
  if (network === 'ethereum') await sweepIfPossible(gateway, port, rates)
  // After the places of our transactions, so that what left is never counted as still there.
  await refreshSenders(gateway, port)
  const rate = network === 'ethereum' ? rates.rate + rates.priorityRate : rates.rate
  const wished = await wishBumps(gateway.db, chain, { afterMs: BUMP_AFTER_MS[network], rate })
  if (wished > 0) gateway.log.info({ chain, wished }, 'transactions wait too long and should pay more')
}

/** Payouts go on with what the hot wallet holds, whatever keeps sweeps from being planned. */
async function sweepIfPossible(gateway: Gateway, port: ChainPort, rates: NetworkRates): Promise<void> {
  try {
    await planSweeps(gateway, port, rates)
  } catch (error) {
    const reason = withoutCredentials(error instanceof Error ? error.message : String(error))
    gateway.log.error({ chain: port.chain, reason }, 'sweeps can not be planned now')
  }
}

async function ratesNow(gateway: Gateway, port: ChainPort, seen: ChainMemory): Promise<NetworkRates> {
  if (seen.rates && Date.now() - seen.ratesAtMs < RATES_AGE_MS) return seen.rates
  seen.rates = await refreshFeeRates(gateway, port)
  seen.ratesAtMs = Date.now()
  return seen.rates
}
