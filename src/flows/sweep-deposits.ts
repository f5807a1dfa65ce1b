/** Which deposits move to the hot wallet: those that are worth their gas. The signer does the rest. */
import type { ChainPort } from '../chains/chain.ts'
import { ASSET_FACTS, type Mode } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { divideUp, pow10 } from '../core/money.ts'
import { type NetworkRates, quotedGasPrice } from '../withdrawals/fees.ts'
import { listSweepCandidates, planSweep } from '../withdrawals/sweeps.sql.ts'
import type { Gateway } from './gateway.ts'

const PLANNED_PER_TURN = 20
const SWEPT_ASSETS = ['ETH', 'USDC', 'USDT'] as const
type SweptAsset = (typeof SWEPT_ASSETS)[number]
/** Gas of a sweep: ether alone; tokens with the transfer that funds them. */
const SWEEP_GAS = { ETH: 21_000n, token: 86_000n } as const
/** What a sweep moves is worth at least this many times its gas; the rest is left until prices fall. */
const WORTH_GAS_TIMES = 20n

/** @returns How many sweeps were planned. */
export async function planSweeps(gateway: Gateway, port: ChainPort, rates: NetworkRates): Promise<number> {
  const { chain } = port
  let planned = 0
  for (const asset of SWEPT_ASSETS) {
    const atomsMin = worthSweeping(gateway, chain.startsWith('sim-') ? 'test' : 'live', asset, rates)
    if (atomsMin === null) continue
    const of = { asset, atomsMin, limit: PLANNED_PER_TURN }
    for (const candidate of await listSweepCandidates(gateway.db, chain, of)) {
      const held = (await port.holdings({ outpoints: [], addresses: [candidate.address] }))[asset] ?? 0n
      // What is not confirmed yet stays: a sweep that counts on it could not be sent after a reorganisation.
      const atoms = held < candidate.bookedAtoms ? held : candidate.bookedAtoms
      if (atoms < atomsMin) continue
      if (await gateway.db.transaction((tx) => planSweep(tx, chain, candidate, atoms))) planned += 1
    }
  }
  return planned
}

/** The fewest atoms that are worth a sweep at the present prices; null for a token without a rate. */
function worthSweeping(
  gateway: Pick<Gateway, 'rates'>,
  mode: Mode,
  asset: SweptAsset,
  rates: NetworkRates,
): bigint | null {
  const gasWei = quotedGasPrice(rates) * (asset === 'ETH' ? SWEEP_GAS.ETH : SWEEP_GAS.token)
  if (asset === 'ETH') return gasWei * WORTH_GAS_TIMES
  try {
    const ether = gateway.rates[mode].rate('ETH', 'USD').ratio
    const token = gateway.rates[mode].rate(asset, 'USD').ratio
    return divideUp(
      gasWei * WORTH_GAS_TIMES * ether.numerator * token.denominator,
      ether.denominator * token.numerator * pow10(ASSET_FACTS.ETH.decimals - ASSET_FACTS[asset].decimals),
    )
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
