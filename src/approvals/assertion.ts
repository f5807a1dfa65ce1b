/**
 * A passkey's answer (WebAuthn Level 3, 7.2), as server and signer check it, with node:crypto alone.
 */
import { createHash, verify } from 'node:crypto'
import { type PasskeyKey, readCoseKey } from './cose-key.ts'

/** As the browser gave it. */
export interface Assertion {
  readonly authenticatorData: Uint8Array
  /** `clientDataJSON`, byte for byte. */
  readonly clientData: Uint8Array
  readonly signature: Uint8Array
}

/** Whose answer is expected: a passkey, and the pages it may be used on. */
export interface Credential {
  /** COSE_Key, as the authenticator gave it. */
  readonly publicKey: Uint8Array
  /** The relying party's id: the dashboard's hostname. */
  readonly rpId: string
  /** The dashboard's origin. */
  readonly origin: string
}

export type AssertionVerdict =
  | {
      readonly kind: 'valid'
      /** The authenticator's; 0 where it keeps none. */
      readonly counter: number
    }
  | {
      readonly kind: 'invalid'
      readonly reason:
        | 'malformed'
        | 'not_an_assertion'
        | 'other_challenge'
        | 'other_origin'
        | 'other_relying_party'
        | 'not_verified'
        | 'bad_signature'
        | 'counter_went_back'
    }

const PREFIX_BYTES = 37
const FLAG = {
  userPresent: 0x01,
  userVerified: 0x04,
  backupEligible: 0x08,
  backedUp: 0x10,
  attestedCredential: 0x40,
  extensions: 0x80,
} as const

/**
 * Whether a passkey answered exactly this challenge, on exactly these pages, with the person verified by the device.
 *
 * @param challenge - The 32 bytes it was to sign.
 * @param lastCounter - The highest that was seen of this passkey; 0 for none.
 */
export function verifyAssertion(
  { publicKey, rpId, origin }: Credential,
  challenge: Uint8Array,
  { authenticatorData, clientData, signature }: Assertion,
  lastCounter: number,
): AssertionVerdict {
  const invalid = (reason: (AssertionVerdict & { kind: 'invalid' })['reason']): AssertionVerdict => ({
    kind: 'invalid',
    reason,
  })
  const key = readCoseKey(publicKey)
  const client = readClientData(clientData)
  const data = readAuthenticatorData(authenticatorData)
  if (!key || !client || !data) return invalid('malformed')
  const signed = Buffer.concat([authenticatorData, sha256(clientData)])
  if (!isSignedBy(key, signed, signature)) return invalid('bad_signature')
  if (client.type !== 'webauthn.get') return invalid('not_an_assertion')
  if (client.challenge !== Buffer.from(challenge).toString('base64url')) return invalid('other_challenge')
  // Our pages stand in nobody's frame.
  if (client.origin !== origin || client.crossOrigin === true || 'topOrigin' in client)
    return invalid('other_origin')
  if (!data.rpIdHash.equals(sha256(rpId))) return invalid('other_relying_party')
  if (!data.isPresent || !data.isVerified) return invalid('not_verified')
  const { counter } = data
  if ((counter !== 0 || lastCounter !== 0) && counter <= lastCounter) return invalid('counter_went_back')
  return { kind: 'valid', counter }
}

/** Where OpenSSL cannot work with a key at all, nothing was signed by it. */
function isSignedBy({ key, hash }: PasskeyKey, signed: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(hash, signed, key, signature)
  } catch {
    return false
  }
}

function readClientData(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    )
    return typeof value === 'object' && value !== null ? { ...value } : null
  } catch {
    return null
  }
}

/** WebAuthn 6.1. Of an assertion it carries no new passkey; extensions are signed for, and mean nothing here. */
function readAuthenticatorData(bytes: Uint8Array) {
  if (bytes.length < PREFIX_BYTES) return null
  const data = Buffer.from(bytes)
  const flags = data.readUInt8(32)
  const has = (flag: number) => (flags & flag) !== 0
  const isWhole = has(FLAG.extensions) === bytes.length > PREFIX_BYTES
  if (!isWhole || has(FLAG.attestedCredential) || (has(FLAG.backedUp) && !has(FLAG.backupEligible)))
    return null
  return {
    rpIdHash: data.subarray(0, 32),
    isPresent: has(FLAG.userPresent),
    isVerified: has(FLAG.userVerified),
    counter: data.readUInt32BE(33),
  }
}

const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()
