/**
 * What a payout on a chain with outputs may cost: priced by the UTXOs that will be spent for it, and never out of proportion
 * to what was charged for it or to what it pays (docs/decisions/0037).
 */
import { vbytesOf } from '../core/vbytes.ts'
import { QUOTED_VBYTES } from './fees.ts'
import { CHANGE_SCRIPT_LENGTH, divideUpKvb, INPUTS_MAX, inputFee } from './select-utxos.ts'

/** A withdrawal that needs more UTXOs than these is refused: a smaller one, or waiting for a consolidation, helps. */
export const UTXOS_PER_WITHDRAWAL_MAX = 5_000

/** So many times what was charged the gateway adds at most, when fees rose between the request and the signature. */
const FEE_OVER_CHARGE_MAX = 5n
/** Or this part of what is paid, where that is more: one percent. */
const FEE_SHARE_MAX = 100n

/** The most that the miner fee of a payout may be. */
export function feeMost(charged: bigint, paid: bigint): bigint {
  const [byCharge, byShare] = [FEE_OVER_CHARGE_MAX * charged, paid / FEE_SHARE_MAX]
  return byCharge > byShare ? byCharge : byShare
}

/**
 * Virtual bytes of what it takes to pay out: one transaction, with others before it that gather UTXOs into one where there are
 * too many for it. Never less than most payouts need.
 */
export function payoutVbytes(utxos: number, scriptLength: number): bigint {
  const gatherings = utxos <= INPUTS_MAX ? 0 : Math.ceil((utxos - INPUTS_MAX) / (INPUTS_MAX - 1))
  const inputs = utxos - gatherings * (INPUTS_MAX - 1)
  const gathering = vbytesOf(INPUTS_MAX, [CHANGE_SCRIPT_LENGTH])
  const payout = gatherings * gathering + vbytesOf(inputs, [scriptLength, CHANGE_SCRIPT_LENGTH])
  return BigInt(payout) > QUOTED_VBYTES ? BigInt(payout) : QUOTED_VBYTES
}

export const feeAt = (rateAtomsPerKvb: bigint, vbytes: bigint): bigint =>
  divideUpKvb(vbytes * rateAtomsPerKvb)

/** How many UTXOs, worth spending and the largest first, pay an amount fees included; null when they do not suffice. */
export function utxosToPay(atoms: readonly bigint[], amount: bigint): number | null {
  if ((atoms[0] ?? 0n) >= amount) return 1
  let sum = 0n
  for (const [index, each] of atoms.entries()) {
    sum += each
    if (sum >= amount) return index + 1
  }
  return null
}

/** What UTXOs bring after what spending them costs. */
export const worthOf = (atoms: readonly bigint[], rateAtomsPerKvb: bigint): bigint =>
  atoms.reduce((sum, each) => sum + each, 0n) - BigInt(atoms.length) * inputFee(rateAtomsPerKvb)
