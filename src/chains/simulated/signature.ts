/**
 * Whether owners signed for what a transaction spends: P2WPKH (BIP-141, BIP-143), everything signed for (SIGHASH_ALL), as
 * our wallets sign. OpenSSL verifies; it takes a tenth of the time of finding out in JavaScript which key signed.
 */
import { createHash, createPublicKey, verify } from 'node:crypto'
import { CompactSize, OutScript, type Transaction } from '@scure/btc-signer'
import { hash160 } from '@scure/btc-signer/utils.js'
import type { Output } from '../chain.ts'

const SIGHASH_ALL = 1
/** A compressed key on secp256k1 as a SubjectPublicKeyInfo (RFC 5480), up to the key itself. */
const PUBLIC_KEY_INFO = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex')
const COMPRESSED_BYTES = 33

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const sha256x2 = (...parts: readonly Uint8Array[]): Buffer => sha256(sha256(...parts))

const le32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}
const le64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}

/** Judges the inputs of one transaction. */
export function judgeOfInputs(signed: Transaction): (input: number, spent: Output) => boolean {
  // Hashed once and when it is needed: hundreds of inputs do not hash each other hundreds of times.
  let shared: ReturnType<typeof hashShared> | null = null
  return (input, spent) => {
    const own = signed.getInput(input)
    const [signature, publicKey, ...rest] = own.finalScriptWitness ?? []
    if (!signature || publicKey?.length !== COMPRESSED_BYTES || rest.length > 0) return false
    const owner = OutScript.decode(spent.lookup)
    const hash = hash160(publicKey)
    if (owner.type !== 'wpkh' || !Buffer.from(hash).equals(owner.hash)) return false
    if (signature.at(-1) !== SIGHASH_ALL) return false
    shared ??= hashShared(signed)
    // BIP-143: the script code of P2WPKH is that of P2PKH.
    const scriptCode = withLength(OutScript.encode({ type: 'pkh', hash }))
    const ownParts = [outpointOf(own), scriptCode, le64(spent.atoms), sequenceOf(own)]
    // It is hashed twice: here, and by OpenSSL.
    const once = sha256(shared.before, ...ownParts, shared.after)
    return isSignature(once, publicKey, signature.subarray(0, -1))
  }
}

type Input = ReturnType<Transaction['getInput']>

const outpointOf = ({ txid = new Uint8Array(), index = 0 }: Pick<Input, 'txid' | 'index'>): Buffer =>
  Buffer.concat([Buffer.from(txid).reverse(), le32(index)])

const sequenceOf = ({ sequence = 0xffffffff }: Pick<Input, 'sequence'>): Buffer => le32(sequence)

/** What every input signs alike. */
function hashShared(signed: Transaction): { readonly before: Buffer; readonly after: Buffer } {
  const inputs = Array.from({ length: signed.inputsLength }, (_, index) => signed.getInput(index))
  const outputs = Array.from({ length: signed.outputsLength }, (_, index) => {
    const { amount = 0n, script = new Uint8Array() } = signed.getOutput(index)
    return Buffer.concat([le64(amount), withLength(script)])
  })
  const spent = [sha256x2(...inputs.map(outpointOf)), sha256x2(...inputs.map(sequenceOf))]
  return {
    before: Buffer.concat([le32(signed.version), ...spent]),
    after: Buffer.concat([sha256x2(...outputs), le32(signed.lockTime), le32(SIGHASH_ALL)]),
  }
}

const withLength = (script: Uint8Array): Buffer =>
  Buffer.concat([CompactSize.encode(BigInt(script.length)), script])

function isSignature(message: Buffer, publicKey: Uint8Array, signature: Uint8Array): boolean {
  try {
    const key = createPublicKey({
      key: Buffer.concat([PUBLIC_KEY_INFO, publicKey]),
      format: 'der',
      type: 'spki',
    })
    return verify('sha256', message, key, signature)
  } catch {
    // No point of the curve, or no signature at all.
    return false
  }
}
