/**
 * What a withdrawal costs: the service's payout fee, and the network's fee as quoted. The quote is what the merchant
 * pays, whatever the transaction costs in the end; the gateway's `network_fees` account takes the difference.
 */
import { ASSET_FACTS, type Asset, type Network } from '../core/assets.ts'
import { unprocessable } from '../core/errors.ts'
import type { Fork } from '../core/forks.ts'
import { divideDown, divideUp, formatDecimal, larger, pow10, smaller } from '../core/money.ts'
import type { Ratio } from '../core/ratio.ts'
import { type GasSchedule, ofAsset, scheduleOf } from './gas.ts'

const BPS_PER_WHOLE = 10_000n

/** What the network charges now: atoms per 1,000 virtual bytes, or wei per gas with the priority fee apart. */
export interface NetworkRates {
  readonly rate: bigint
  /** Wei per gas on top of the base fee; 0 on chains with outputs. */
  readonly priorityRate: bigint
  /** Of Ethereum: the newest fork that its blocks show, which says how much gas is used. */
  readonly fork?: Fork | undefined
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
  return smaller(larger(rate, floor), ceiling)
}

/** No gas of ours is paid more for, whatever the node said. */
const belowGasCeiling = (weiPerGas: bigint): bigint => smaller(weiPerGas, RATE_BOUNDS.ethereum.ceiling)

/** Two P2WPKH inputs, a taproot-sized output and change: what most payouts need, in virtual bytes. */
export const QUOTED_VBYTES = 221n

/** Wei per gas that a quote counts on: the base fee may rise by an eighth per block. */
export const quotedGasPrice = (rates: NetworkRates): bigint =>
  belowGasCeiling(divideUp(rates.rate * 5n, 4n) + rates.priorityRate)

/** What one gas may cost at most, and how much of it goes to the block's maker. */
export interface GasPrice {
  readonly maxFeeWei: bigint
  readonly priorityFeeWei: bigint
}

/** The base fee may double (six full blocks) before such a transaction waits. Bounded whatever the node said. */
export function gasPrice(rates: { rate: bigint; priorityRate: bigint }): GasPrice {
  const maxFeeWei = belowGasCeiling(2n * rates.rate + rates.priorityRate)
  return { maxFeeWei: larger(maxFeeWei, 1n), priorityFeeWei: smaller(rates.priorityRate, maxFeeWei) }
}

/**
 * What a receiver's code uses in vain is kept from what is given back: so it may use no more than the withdrawal is worth, though
 * always what a plain transfer takes.
 */
export function payoutGasLimit(
  { asset, amountAtoms }: { readonly asset: Asset; readonly amountAtoms: bigint },
  { maxFeeWei }: GasPrice,
  { payoutMost, quoted }: GasSchedule,
): bigint {
  if (asset !== 'ETH') return payoutMost.token
  const covered = divideDown(amountAtoms, maxFeeWei)
  return smaller(larger(covered, quoted.ETH), payoutMost.ETH)
}

/**
 * What a sweep moves is worth at least so many times its gas: less is planned for none, and for none of ether is ever
 * signed, first or as a bump.
 */
export const SWEEP_WORTH_LEAST_TIMES = 2n

/** Price and tip of a sweep of ether are alike: the whole price is paid, so that nothing is left behind. */
export function etherSweepPrice(rates: NetworkRates): GasPrice {
  const maxFeeWei = quotedGasPrice(rates)
  return { maxFeeWei, priorityFeeWei: maxFeeWei }
}

/** The gas that an address is given for the sweep of its token: the base fee may rise by half before it waits. */
export const sweepFunding = ({ rate, priorityRate, fork }: NetworkRates): bigint =>
  scheduleOf({ fork }).tokenSweepMost * belowGasCeiling(divideUp(rate * 3n, 2n) + priorityRate)

/** Nodes refuse to send what may cost more than one ether in fees (geth's `--rpc.txfeecap`). */
export const GAS_COST_MAX_WEI = 10n ** 18n
/** What is signed for the first time leaves room for its replacements. */
export const FIRST_GAS_COST_MAX_WEI = divideDown(GAS_COST_MAX_WEI, 2n)

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
 * The gas of one payout on a chain with accounts, in atoms of the coin that is paid out, rounded up.
 *
 * @param prices - Needed for tokens only.
 */
export function gasFeeAtoms(asset: Asset, rates: NetworkRates, prices: TokenPrices | null): bigint {
  const wei = quotedGasPrice(rates) * ofAsset(scheduleOf(rates).quoted, asset)
  if (asset === 'ETH') return wei
  if (!prices) throw new RangeError(`the network fee of ${asset} needs the prices of ether and of ${asset}`)
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
