/**
 * What a withdrawal costs: the service's payout fee, and the network's fee as quoted. The quote is what the merchant
 * pays, whatever the transaction costs in the end; the gateway's `network_fees` account takes the difference.
 */
import { ASSET_FACTS, type Asset, type Network } from '../core/assets.ts'
import { unprocessable } from '../core/errors.ts'
import { divideUp, formatDecimal, pow10 } from '../core/money.ts'
import type { Ratio } from '../core/ratio.ts'

const BPS_PER_WHOLE = 10_000n

/** What the network charges now: atoms per 1,000 virtual bytes, or wei per gas with the priority fee apart. */
export interface NetworkRates {
  readonly rate: bigint
  /** Wei per gas on top of the base fee; 0 on chains with outputs. */
  readonly priorityRate: bigint
}

/**
 * Bounds on what any transaction of ours offers, whatever a node or the database says, and what it offers when the
 * node has no estimate. Atoms per 1,000 virtual bytes; wei per gas.
 */
export const RATE_BOUNDS: Readonly<
  Record<Network, { readonly floor: bigint; readonly ceiling: bigint; readonly fallback: bigint }>
> = {
  bitcoin: { floor: 1_000n, ceiling: 1_000_000n, fallback: 10_000n },
  litecoin: { floor: 1_000n, ceiling: 2_000_000n, fallback: 20_000n },
  ethereum: { floor: 1n, ceiling: 1_000_000_000_000n, fallback: 20_000_000_000n },
}

export function boundedRate(network: Network, rate: bigint): bigint {
  const { floor, ceiling } = RATE_BOUNDS[network]
  return rate < floor ? floor : rate > ceiling ? ceiling : rate
}

/** Two P2WPKH inputs, a taproot-sized output and change: what most payouts need, in virtual bytes. */
export const QUOTED_VBYTES = 221n
/** Gas of a plain transfer, and of a token transfer to an address that held none before (USDT's is the dearest). */
const QUOTED_GAS = { ETH: 21_000n, token: 65_000n } as const

/**
 * Gas that a payout may use at most, and its sender has to hold ether for: more than a transfer needs, for receivers that
 * are contracts. What is not used is not paid.
 */
export const PAYOUT_GAS_MAX = { ETH: 60_000n, token: 120_000n } as const

/** Wei per gas that a quote counts on: the base fee may rise by an eighth per block. */
export const quotedGasPrice = (rates: NetworkRates): bigint =>
  divideUp(rates.rate * 5n, 4n) + rates.priorityRate

/** What one gas may cost at most, and how much of it goes to the block's maker. */
export interface GasPrice {
  readonly maxFeeWei: bigint
  readonly priorityFeeWei: bigint
}

/** The base fee may double (six full blocks) before such a transaction waits. Bounded whatever the node said. */
export function gasPrice(rates: { rate: bigint; priorityRate: bigint }): GasPrice {
  const { ceiling } = RATE_BOUNDS.ethereum
  const wanted = 2n * rates.rate + rates.priorityRate
  const maxFeeWei = wanted < ceiling ? wanted : ceiling
  const priorityFeeWei = rates.priorityRate < maxFeeWei ? rates.priorityRate : maxFeeWei
  return { maxFeeWei: maxFeeWei > 0n ? maxFeeWei : 1n, priorityFeeWei }
}

/**
 * What a receiver's code uses in vain is kept from what is given back: so it may use no more than the withdrawal is worth, though
 * always what a plain transfer takes.
 */
export function payoutGasLimit(
  { asset, amountAtoms }: { readonly asset: Asset; readonly amountAtoms: bigint },
  { maxFeeWei }: GasPrice,
): bigint {
  if (asset !== 'ETH') return PAYOUT_GAS_MAX.token
  const covered = amountAtoms / maxFeeWei
  if (covered >= PAYOUT_GAS_MAX.ETH) return PAYOUT_GAS_MAX.ETH
  return covered > QUOTED_GAS.ETH ? covered : QUOTED_GAS.ETH
}

/** Gas of a sweep of ether: the hot wallet is no contract, so it is a plain transfer, exactly. */
export const ETHER_SWEEP_GAS = 21_000n
/**
 * What a sweep moves is worth at least so many times its gas: less is planned for none, and for none of ether is ever
 * signed, first or as a bump.
 */
export const SWEEP_WORTH_LEAST_TIMES = 2n

/** Price and tip of a sweep of ether are alike: the whole price is paid, so that nothing is left behind. */
export function etherSweepPrice(rates: NetworkRates): GasPrice {
  const { ceiling } = RATE_BOUNDS.ethereum
  const wanted = quotedGasPrice(rates)
  const maxFeeWei = wanted < ceiling ? wanted : ceiling
  return { maxFeeWei, priorityFeeWei: maxFeeWei }
}

/** What the sweep of a token may use at most: USDC and USDT take up to 65,000. What it does not use stays for a next one. */
export const TOKEN_SWEEP_GAS_MAX = 80_000n

/** The gas that an address is given for the sweep of its token: the base fee may rise by half before it waits. */
export function sweepFunding({ rate, priorityRate }: NetworkRates): bigint {
  const { ceiling } = RATE_BOUNDS.ethereum
  const wanted = divideUp(rate * 3n, 2n) + priorityRate
  return TOKEN_SWEEP_GAS_MAX * (wanted < ceiling ? wanted : ceiling)
}

/** Nodes refuse to send what may cost more than one ether in fees (geth's `--rpc.txfeecap`). */
export const GAS_COST_MAX_WEI = 10n ** 18n
/** What is signed for the first time leaves room for its replacements. */
export const FIRST_GAS_COST_MAX_WEI = GAS_COST_MAX_WEI / 2n

/** The smallest output every node relays: below this a P2PKH output is dust (Core `GetDustThreshold`). */
export const OUTPUT_ATOMS_MIN: Readonly<Record<Asset, bigint>> = {
  BTC: 546n,
  LTC: 5_460n,
  ETH: 1n,
  USDC: 1n,
  USDT: 1n,
}

/** Rates of ether and of the token in the same fiat, to price gas in the token. */
export interface TokenPrices {
  readonly ether: Ratio
  readonly token: Ratio
}

/**
 * The network fee of one payout, in atoms of the coin that is paid out, rounded up.
 *
 * @param prices - Needed for tokens only.
 */
export function networkFeeAtoms(asset: Asset, rates: NetworkRates, prices: TokenPrices | null): bigint {
  if (ASSET_FACTS[asset].network !== 'ethereum') return divideUp(rates.rate * QUOTED_VBYTES, 1_000n)
  const price = quotedGasPrice(rates)
  if (asset === 'ETH') return price * QUOTED_GAS.ETH
  if (!prices) throw new RangeError(`the network fee of ${asset} needs the prices of ether and of ${asset}`)
  const wei = price * QUOTED_GAS.token
  const dividend =
    wei * prices.ether.numerator * prices.token.denominator * pow10(ASSET_FACTS[asset].decimals)
  const divisor = prices.ether.denominator * prices.token.numerator * pow10(ASSET_FACTS.ETH.decimals)
  return divideUp(dividend, divisor)
}

export interface WithdrawalCost {
  readonly amountAtoms: bigint
  readonly feeAtoms: bigint
  readonly networkFeeAtoms: bigint
  readonly netAtoms: bigint
}

/**
 * The gateway's fee on a payout, rounded up to the atom: the gateway gains the fraction.
 *
 * @param bps - Hundredths of a percent.
 */
export function payoutFeeAtoms(atoms: bigint, bps: bigint): bigint {
  if (bps < 0n || bps > BPS_PER_WHOLE)
    throw new RangeError(`a payout fee is 0 to ${BPS_PER_WHOLE} hundredths of a percent, got ${bps}`)
  return divideUp(atoms * bps, BPS_PER_WHOLE)
}

/**
 * Splits a gross amount into the fees and what arrives.
 *
 * @param feeBps - Payout fee in hundredths of a percent; 0 for refunds.
 * @throws {Refusal} `unprocessable`: `fee_exceeds_amount` when nothing would be left, `below_minimum` when what is left
 *   is less than the network relays.
 */
export function costOf(
  asset: Asset,
  amountAtoms: bigint,
  feeBps: bigint,
  networkFee: bigint,
): WithdrawalCost {
  const { decimals } = ASSET_FACTS[asset]
  const feeAtoms = payoutFeeAtoms(amountAtoms, feeBps)
  const netAtoms = amountAtoms - feeAtoms - networkFee
  const fees = `the payout fee of ${formatDecimal(feeAtoms, decimals)} and the network fee of ${formatDecimal(networkFee, decimals)} ${asset}`
  if (netAtoms <= 0n)
    throw unprocessable(
      'fee_exceeds_amount',
      `${fees} leave nothing of ${formatDecimal(amountAtoms, decimals)} ${asset}; withdraw more`,
      [{ field: 'amount', message: 'does not cover the fees' }],
    )
  if (netAtoms < OUTPUT_ATOMS_MIN[asset])
    throw unprocessable(
      'below_minimum',
      `after ${fees}, ${formatDecimal(netAtoms, decimals)} ${asset} would arrive; the network relays ${formatDecimal(OUTPUT_ATOMS_MIN[asset], decimals)} or more`,
      [{ field: 'amount', message: 'leaves less than the network relays' }],
    )
  return { amountAtoms, feeAtoms, networkFeeAtoms: networkFee, netAtoms }
}
