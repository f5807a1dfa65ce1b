/** The size of transactions that spend P2WPKH outputs (BIP-141), before they are signed; and what nodes relay. */

/**
 * Nodes relay no transaction that weighs more (Bitcoin Core and Litecoin Core, `MAX_STANDARD_TX_WEIGHT`).
 *
 * The other bound of theirs on what has many outputs, a fifth of a block's signature operations, is never met before: a P2PKH
 * output counts 4 of 16,000 and has 34 virtual bytes.
 */
const STANDARD_WEIGHT_MAX = 400_000
/** The same in virtual bytes. */
export const STANDARD_VBYTES_MAX = STANDARD_WEIGHT_MAX / 4

/** Outputs of a transaction, as far as its size goes. */
export interface OutputSizes {
  readonly count: number
  readonly bytes: number
}

export const NO_OUTPUTS: OutputSizes = { count: 0, bytes: 0 }

export const withOutput = ({ count, bytes }: OutputSizes, scriptLength: number): OutputSizes => ({
  count: count + 1,
  bytes: bytes + 9 + scriptLength,
})

/** @param scriptLengths - Length of each output's script. */
export const sizesOf = (scriptLengths: readonly number[]): OutputSizes =>
  scriptLengths.reduce(withOutput, NO_OUTPUTS)

/**
 * Virtual bytes of a transaction that spends P2WPKH outputs, never less than what is signed: a DER signature has at most 72 bytes
 * (BIP-141).
 */
export function vbytesWith(inputCount: number, outputs: OutputSizes): number {
  const base = 8 + countBytes(inputCount) + 41 * inputCount + countBytes(outputs.count) + outputs.bytes
  const witness = 2 + 108 * inputCount
  return Math.ceil((4 * base + witness) / 4)
}

/** The same of outputs that are given one by one. */
export const vbytesOf = (inputCount: number, scriptLengths: readonly number[]): number =>
  vbytesWith(inputCount, sizesOf(scriptLengths))

const countBytes = (count: number): number => (count < 0xfd ? 1 : 3)
