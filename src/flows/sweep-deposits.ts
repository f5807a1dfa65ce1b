/** Which deposits move to the hot wallet: those that are worth their gas. The signer does the rest. */
import type { ChainPort } from '../chains/chain.ts'
import { ASSET_FACTS, type Mode } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { pow10 } from '../core/money.ts'
import { type NetworkRates, quotedGasPrice } from '../withdrawals/fees.ts'
import { listSweepCandidates, planSweep, type SweepCandidate } from '../withdrawals/sweeps.sql.ts'
import type { Gateway } from './gateway.ts'

const PLANNED_PER_TURN = 20
/** Gas of a sweep: ether alone; tokens with the transfer that funds them. */
const SWEEP_GAS = { ETH: 21_000n, token: 86_000n } as const
/** What a sweep moves is worth at least this many times its gas; the rest is left until prices fall. */
const WORTH_GAS_TIMES = 20n

/** @returns How many sweeps were planned. */
export async function planSweeps(gateway: Gateway, port: ChainPort, rates: NetworkRates): Promise<number> {
  const { chain } = port
  let planned = 0
  for (const candidate of await listSweepCandidates(gateway.db, chain, PLANNED_PER_TURN)) {
    const held = await port.holdings({ outpoints: [], addresses: [candidate.address] })
    const atoms = held[candidate.asset] ?? 0n
    if (
      atoms === 0n ||
      !isWorthIts(gateway, chain.startsWith('sim-') ? 'test' : 'live', candidate, atoms, rates)
    )
      continue
    if (await gateway.db.transaction((tx) => planSweep(tx, chain, candidate, atoms))) planned += 1
  }
  return planned
}

function isWorthIts(
  gateway: Gateway,
  mode: Mode,
  { asset }: SweepCandidate,
  atoms: bigint,
  rates: NetworkRates,
): boolean {
  const gasWei = quotedGasPrice(rates) * (asset === 'ETH' ? SWEEP_GAS.ETH : SWEEP_GAS.token)
  if (asset === 'ETH') return atoms >= gasWei * WORTH_GAS_TIMES
  try {
    const ether = gateway.rates[mode].rate('ETH', 'USD').ratio
    const token = gateway.rates[mode].rate(asset, 'USD').ratio
    // Both sides in dollars, without a division: atoms x token rate against wei x ether rate.
    const worth =
      atoms *
      token.numerator *
      ether.denominator *
      pow10(ASSET_FACTS.ETH.decimals - ASSET_FACTS[asset].decimals)
    return worth >= gasWei * ether.numerator * token.denominator * WORTH_GAS_TIMES
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}
