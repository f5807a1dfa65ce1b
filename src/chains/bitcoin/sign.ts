/**
 * Signing of Bitcoin and Litecoin transactions, pure: spends P2WPKH UTXOs (BIP-84, BIP-141, BIP-143) to any scripts.
 * Every input signals replacement (BIP-125); lock time 0, so that no reorganisation makes a transaction wait.
 */
import { Transaction } from '@scure/btc-signer'
import { invariant } from '../../core/errors.ts'
import { WholeTransaction } from './whole-transaction.ts'

export interface SignedInput {
  readonly txid: string
  readonly index: number
  readonly atoms: bigint
  /** The P2WPKH scriptPubKey of the UTXO. */
  readonly script: Uint8Array
  readonly privateKey: Uint8Array
}

export interface SignedOutput {
  readonly script: Uint8Array
  readonly atoms: bigint
}

export interface SignedBytes {
  /** Hex, with witnesses. */
  readonly raw: string
  readonly txid: string
  readonly vbytes: number
}

const SEQUENCE_REPLACEABLE = 0xfffffffd

/**
 * @throws {RangeError} when outputs exceed inputs.
 * @throws when a key does not own its input's script: nothing is signed for UTXOs that are not ours.
 */
export function signOutputs(inputs: readonly SignedInput[], outputs: readonly SignedOutput[]): SignedBytes {
  const given = inputs.reduce((sum, input) => sum + input.atoms, 0n)
  const taken = outputs.reduce((sum, output) => sum + output.atoms, 0n)
  if (inputs.length === 0 || outputs.length === 0 || given <= taken)
    throw new RangeError(`inputs of ${given} atoms do not pay outputs of ${taken} and a fee`)
  // Scripts of destinations were read from addresses; the library would refuse those it has no name for.
  const transaction = new WholeTransaction({ allowUnknownOutputs: true, lowR: true })
  for (const { txid, index, atoms, script } of inputs) {
    transaction.addInput({
      txid,
      index,
      sequence: SEQUENCE_REPLACEABLE,
      witnessUtxo: { script, amount: atoms },
    })
  }
  for (const { script, atoms } of outputs) transaction.addOutput({ script, amount: atoms })
  for (const [index, { privateKey }] of inputs.entries()) {
    invariant(transaction.signIdx(privateKey, index), `the key of input ${index} does not own it`)
  }
  transaction.finalize()
  return { raw: transaction.hex, txid: transaction.id, vbytes: transaction.vsize }
}

/** What signed bytes pay, in order. */
export function outputsOfRaw(raw: string): SignedOutput[] {
  const transaction = readRaw(raw)
  return Array.from({ length: transaction.outputsLength }, (_, index) => {
    const { script, amount } = transaction.getOutput(index)
    invariant(script !== undefined && amount !== undefined, 'a signed output has a script and an amount')
    return { script, atoms: amount }
  })
}

/** Virtual bytes of signed bytes. */
export const vbytesOfRaw = (raw: string): number => readRaw(raw).vsize

const readRaw = (raw: string): Transaction =>
  Transaction.fromRaw(Buffer.from(raw, 'hex'), { allowUnknownOutputs: true, disableScriptCheck: true })
