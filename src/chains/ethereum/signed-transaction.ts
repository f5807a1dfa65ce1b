/** Signed transactions of the two types that Beck sends, and who signed them. */
import {
  getSignPayload as payloadOfAuthorization,
  type Signed as SignedAuthorization,
} from 'ox/Authorization'
import { recoverAddress } from 'ox/Secp256k1'
import * as eip1559 from 'ox/TxEnvelopeEip1559'
import * as eip7702 from 'ox/TxEnvelopeEip7702'
import type { Hex } from './wire.ts'

export type EthereumTransaction = eip1559.TxEnvelopeEip1559 | eip7702.TxEnvelopeEip7702

const is1559 = (raw: Hex): raw is eip1559.Serialized => raw.startsWith(eip1559.serializedType)
const is7702 = (raw: Hex): raw is eip7702.Serialized => raw.startsWith(eip7702.serializedType)

/** By its first byte. */
export const isOfKnownType = (raw: Hex): boolean => is1559(raw) || is7702(raw)

/**
 * @throws {RangeError} when its type is another, or its bytes are not the ones by which everybody writes what it says; an
 *   error of the codec when it is no transaction.
 */
export function readSignedTransaction(raw: Hex): EthereumTransaction {
  const transaction = decode(raw)
  // The codec passes over what follows, zeros before a number, and lists where none belong: one signature had many hashes.
  if (writeTransaction(transaction) !== raw.toLowerCase())
    throw new RangeError('a transaction is written in another way than all others')
  return transaction
}

function decode(raw: Hex): EthereumTransaction {
  if (is1559(raw)) return eip1559.deserialize(raw)
  if (is7702(raw)) return eip7702.deserialize(raw)
  throw new RangeError(`a transaction of type ${raw.slice(0, 4)} is none of ours`)
}

/** Its bytes, with the signature that it has. */
export const writeTransaction = (transaction: EthereumTransaction): Hex =>
  transaction.type === 'eip7702' ? eip7702.serialize(transaction) : eip1559.serialize(transaction)

/** The hash that its sender signs. */
export const payloadToSign = (transaction: EthereumTransaction): Hex =>
  transaction.type === 'eip7702' ? eip7702.getSignPayload(transaction) : eip1559.getSignPayload(transaction)

/** Its sender, in lower case. @throws when it is not signed, or by no key that could be. */
export function senderOf(transaction: EthereumTransaction): Hex {
  const { r, s, yParity } = transaction
  if (r === undefined || s === undefined || yParity === undefined)
    throw new RangeError('the transaction is not signed')
  return recoverAddress({ payload: payloadToSign(transaction), signature: { r, s, yParity } })
}

/** Who signed an authorisation (EIP-7702), in lower case. @throws when no key could have. */
export function authorityOf({ r, s, yParity, ...authorization }: SignedAuthorization): Hex {
  return recoverAddress({ payload: payloadOfAuthorization(authorization), signature: { r, s, yParity } })
}
