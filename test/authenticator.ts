/** Passkeys made in a test: what an authenticator answers, with everything of it open to be wrong. */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { Assertion } from '../src/approvals/assertion.ts'

export interface TestPasskey {
  readonly credentialId: Buffer
  /** COSE_Key of ES256 (RFC 9053, 2.1 and 7.1.1). */
  readonly publicKey: Buffer
  readonly rpId: string
  readonly origin: string
  /** Answers a challenge as the browser would, with the next count; `wrong` changes what a test wants otherwise. */
  assert(challenge: Uint8Array, wrong?: Wrong): Assertion
  /** The same as a browser's `credential.toJSON()`. */
  answer(challenge: Uint8Array, wrong?: Wrong): string
}

export interface Wrong {
  readonly type?: string
  readonly origin?: string
  readonly rpId?: string
  readonly counter?: number
  /** Bits of the authenticator: user present 0x01, user verified 0x04. */
  readonly flags?: number
  readonly crossOrigin?: boolean
}

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04

/** @param given.keepsCount - Synchronised passkeys keep none: theirs is 0 for ever. */
export function makePasskey(
  given: { readonly rpId?: string; readonly origin?: string; readonly keepsCount?: boolean } = {},
): TestPasskey {
  const { rpId = 'localhost', origin = 'http://localhost:8080', keepsCount = false } = given
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const credentialId = randomBytes(32)
  let count = 0

  function assert(challenge: Uint8Array, wrong: Wrong = {}): Assertion {
    if (keepsCount) count += 1
    const authenticatorData = Buffer.concat([
      sha256(wrong.rpId ?? rpId),
      Buffer.of(wrong.flags ?? USER_PRESENT | USER_VERIFIED),
      uint32(wrong.counter ?? count),
    ])
    const clientData = Buffer.from(
      JSON.stringify({
        type: wrong.type ?? 'webauthn.get',
        challenge: Buffer.from(challenge).toString('base64url'),
        origin: wrong.origin ?? origin,
        crossOrigin: wrong.crossOrigin ?? false,
      }),
    )
    const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientData)]), privateKey)
    return { authenticatorData, clientData, signature }
  }

  return {
    credentialId,
    publicKey: coseKey(Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')),
    rpId,
    origin,
    assert,
    answer(challenge, wrong) {
      const { authenticatorData, clientData, signature } = assert(challenge, wrong)
      const id = credentialId.toString('base64url')
      return JSON.stringify({
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          authenticatorData: base64url(authenticatorData),
          clientDataJSON: base64url(clientData),
          signature: base64url(signature),
        },
      })
    },
  }
}

/** A CBOR map: kty EC2, alg ES256, crv P-256, x, y. */
const coseKey = (x: Uint8Array, y: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from('a50102032620012158', 'hex'),
    Buffer.of(32),
    x,
    Buffer.from('2258', 'hex'),
    Buffer.of(32),
    y,
  ])

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
