/**
 * Whether owners signed for what a transaction spends: P2WPKH (BIP-141, BIP-143), everything signed for (SIGHASH_ALL), as
 * our wallets sign. OpenSSL verifies; it takes a tenth of the time of finding out in JavaScript which key signed.
 */
import { createPublicKey, verify } from 'node:crypto'
import { OutScript, SigHash, type Transaction } from '@scure/btc-signer'
import { hash160 } from '@scure/btc-signer/utils.js'
import { messagesOf } from '../../core/bip143.ts'
import type { Output } from '../chain.ts'

/** A compressed key on secp256k1 as a SubjectPublicKeyInfo (RFC 5480), up to the key itself. */
const PUBLIC_KEY_INFO = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex')
const COMPRESSED_BYTES = 33

/** Judges the inputs of one transaction. */
export function judgeOfInputs(signed: Transaction): (input: number, spent: Output) => boolean {
  const messageOf = messagesOf(signed)
  return (input, spent) => {
    const [signature, publicKey, ...rest] = signed.getInput(input).finalScriptWitness ?? []
    if (!signature || publicKey?.length !== COMPRESSED_BYTES || rest.length > 0) return false
    const owner = OutScript.decode(spent.lookup)
    const hash = hash160(publicKey)
    if (owner.type !== 'wpkh' || !Buffer.from(hash).equals(owner.hash)) return false
    if (signature.at(-1) !== SigHash.ALL) return false
    // BIP-143: the script code of P2WPKH is that of P2PKH.
    const scriptCode = OutScript.encode({ type: 'pkh', hash })
    // It is hashed twice: here, and by OpenSSL.
    const message = messageOf(input, scriptCode, spent.atoms)
    return isSignature(message, publicKey, signature.subarray(0, -1))
  }
}

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
