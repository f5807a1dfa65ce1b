/**
 * What a payout on a chain with outputs may cost: priced by the UTXOs that will be spent for it, and never out of proportion
 * to what was charged for it or to what it pays (docs/decisions/0037).
 */
import { divideDown, larger } from '../core/money.ts'
import { vbytesOf } from '../core/vbytes.ts'
import { QUOTED_VBYTES } from './fees.ts'
import { CHANGE_SCRIPT_LENGTH, INPUTS_MAX, inputFee } from './select-utxos.ts'

/** A withdrawal that needs more UTXOs than these is refused: a smaller one, or waiting for a consolidation, helps. */
export const UTXOS_PER_WITHDRAWAL_MAX = 5_000

/** So many times what was charged the gateway adds at most, when fees rose between the request and the signature. */
const FEE_OVER_CHARGE_MAX = 5n
/** Or this part of what is paid, where that is more: one percent. */
const FEE_SHARE_MAX = 100n

/** The most that the miner fee of a payout may be. */
export const feeMost = (charged: bigint, paid: bigint): bigint =>
  larger(FEE_OVER_CHARGE_MAX * charged, divideDown(paid, FEE_SHARE_MAX))

/**
 * Virtual bytes of what it takes to pay out: one transaction, with others before it that gather UTXOs into one where there are
 * too many for it. Never less than most payouts need.
 */
export function payoutVbytes(utxos: number, scriptLength: number): bigint {
  const gatherings = utxos <= INPUTS_MAX ? 0 : Math.ceil((utxos - INPUTS_MAX) / (INPUTS_MAX - 1))
  const inputs = utxos - gatherings * (INPUTS_MAX - 1)
  const gathering = vbytesOf(INPUTS_MAX, [CHANGE_SCRIPT_LENGTH])
  const payout = gatherings * gathering + vbytesOf(inputs, [scriptLength, CHANGE_SCRIPT_LENGTH])
  return larger(BigInt(payout), QUOTED_VBYTES)
}

/** What the first of some UTXOs holds, the first two, and so on. */
export function sumsOf(atoms: readonly bigint[]): bigint[] {
  let sum = 0n
  return atoms.map((each) => {
    sum += each
    return sum
  })
}

/**
 * How many UTXOs pay an amount fees included; null when they do not suffice. Halved, for each line of a batch asks.
 *
 * @param sums - Of those that are worth spending, the largest first, as {@link sumsOf} adds them up.
 */
export function utxosToPay(sums: readonly bigint[], amount: bigint): number | null {
  let [low, high] = [0, sums.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sums[middle] ?? 0n) < amount) low = middle + 1
    else high = middle
  }
  return low < sums.length ? low + 1 : null
}

/** What UTXOs bring after what spending them costs. */
export const worthOf = (sums: readonly bigint[], rateAtomsPerKvb: bigint): bigint =>
  (sums.at(-1) ?? 0n) - BigInt(sums.length) * inputFee(rateAtomsPerKvb)
