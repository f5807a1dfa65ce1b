/**
 * A transaction that every input signs as a whole (BIP-143, SIGHASH_ALL). The library hashes all inputs and all outputs anew for
 * each input, though it is the same for each.
 */
import { SigHash, Transaction } from '@scure/btc-signer'
import { messagesOf, sha256 } from '../../core/bip143.ts'

export class WholeTransaction extends Transaction {
  /** Nothing is added once an input is signed: the library refuses it. */
  readonly #messageOf = messagesOf(this)

  override preimageWitnessV0(
    index: number,
    scriptCode: Uint8Array,
    hashType: number,
    atoms: bigint,
  ): Uint8Array {
    if (hashType !== SigHash.ALL) return super.preimageWitnessV0(index, scriptCode, hashType, atoms)
    return sha256(this.#messageOf(index, scriptCode, atoms))
  }
}
