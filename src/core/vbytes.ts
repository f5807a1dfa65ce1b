/** The size of transactions that spend P2WPKH outputs (BIP-141), before they are signed. */

/**
 * Virtual bytes of a transaction that spends P2WPKH outputs, never less than what is signed: a DER signature has at most 72 bytes (BIP-141).
 *
 * @param scriptLengths - Length of each output's script.
 */
export function vbytesOf(inputCount: number, scriptLengths: readonly number[]): number {
  const outputs = scriptLengths.reduce((sum, length) => sum + 9 + length, 0)
  const base = 8 + countBytes(inputCount) + 41 * inputCount + countBytes(scriptLengths.length) + outputs
  const witness = 2 + 108 * inputCount
  return Math.ceil((4 * base + witness) / 4)
}

const countBytes = (count: number): number => (count < 0xfd ? 1 : 3)
