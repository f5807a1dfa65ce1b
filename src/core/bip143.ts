/** What the inputs of a transaction sign (BIP-143) where each signs for the whole of it (SIGHASH_ALL), as our wallets sign. */
import { createHash } from 'node:crypto'
import { CompactSize, SigHash, type Transaction } from '@scure/btc-signer'

/**
 * The message of each input of one transaction. What all inputs sign alike is hashed once, when the first is asked for: hundreds of
 * inputs of thousands of outputs took seconds.
 *
 * @param transaction - Nothing is added to it any more.
 * @returns SHA-256 of the message: what is signed is the SHA-256 of this.
 */
export function messagesOf(
  transaction: Transaction,
): (input: number, scriptCode: Uint8Array, atoms: bigint) => Buffer {
  let shared: ReturnType<typeof hashShared> | null = null
  return (input, scriptCode, atoms) => {
    shared ??= hashShared(transaction)
    const own = transaction.getInput(input)
    const ownParts = [outpointOf(own), withLength(scriptCode), le64(atoms), sequenceOf(own)]
    return sha256(shared.before, ...ownParts, shared.after)
  }
}

/** What every input signs alike. */
function hashShared(transaction: Transaction): { readonly before: Buffer; readonly after: Buffer } {
  const inputs = Array.from({ length: transaction.inputsLength }, (_, index) => transaction.getInput(index))
  const outputs = Array.from({ length: transaction.outputsLength }, (_, index) => {
    const { amount = 0n, script = new Uint8Array() } = transaction.getOutput(index)
    return Buffer.concat([le64(amount), withLength(script)])
  })
  const spent = [sha256x2(...inputs.map(outpointOf)), sha256x2(...inputs.map(sequenceOf))]
  return {
    before: Buffer.concat([le32(transaction.version), ...spent]),
    after: Buffer.concat([sha256x2(...outputs), le32(transaction.lockTime), le32(SigHash.ALL)]),
  }
}

type Input = ReturnType<Transaction['getInput']>

const outpointOf = ({ txid = new Uint8Array(), index = 0 }: Input): Buffer =>
  Buffer.concat([Buffer.from(txid).reverse(), le32(index)])

const sequenceOf = ({ sequence = 0xffffffff }: Input): Buffer => le32(sequence)

const withLength = (script: Uint8Array): Buffer =>
  Buffer.concat([CompactSize.encode(BigInt(script.length)), script])

export function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const sha256x2 = (...parts: readonly Uint8Array[]): Buffer => sha256(sha256(...parts))

function le32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  // A version is a signed number, of which the bits count.
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

function le64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}
