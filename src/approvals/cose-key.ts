/**
 * Public keys of passkeys: COSE_Key (RFC 9052, 9053, 8230) in CBOR (RFC 8949) as CTAP2 allows it, of the three algorithms that the
 * dashboard asks for. What is written in another way than the one that authenticators must write is no key.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'

export interface PasskeyKey {
  readonly key: KeyObject
  /** What `verify` of node:crypto calls it; null for EdDSA, which hashes by itself. */
  readonly hash: 'sha256' | null
}

/** @returns Null for what is no such key. */
export function readCoseKey(bytes: Uint8Array): PasskeyKey | null {
  const map = readIntegerMap(bytes)
  const jwk = map && jwkOf(map)
  if (!jwk) return null
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    return { key, hash: jwk.kty === 'OKP' ? null : 'sha256' }
  } catch {
    // A point that is not on its curve.
    return null
  }
}

type Value = number | Uint8Array
type CoseMap = ReadonlyMap<number, Value>

const COSE = { kty: 1, alg: 3, crv: -1, x: -2, y: -3, n: -1, e: -2 } as const
const P256_BYTES = 32
const ED25519_BYTES = 32
const RSA_BYTES = { min: 256, max: 1_024 } as const

function jwkOf(map: CoseMap) {
  const number = (label: number) => map.get(label)
  const text = (label: number, bytesMin: number, bytesMax = bytesMin): string | null => {
    const value = map.get(label)
    const isThere = value instanceof Uint8Array && value.length >= bytesMin && value.length <= bytesMax
    return isThere ? Buffer.from(value).toString('base64url') : null
  }
  if (number(COSE.kty) === 2 && number(COSE.alg) === -7 && number(COSE.crv) === 1 && map.size === 5) {
    const [x, y] = [text(COSE.x, P256_BYTES), text(COSE.y, P256_BYTES)]
    return x && y ? { kty: 'EC', crv: 'P-256', x, y } : null
  }
  if (number(COSE.kty) === 1 && number(COSE.alg) === -8 && number(COSE.crv) === 6 && map.size === 4) {
    const x = text(COSE.x, ED25519_BYTES)
    return x ? { kty: 'OKP', crv: 'Ed25519', x } : null
  }
  if (number(COSE.kty) === 3 && number(COSE.alg) === -257 && map.size === 4) {
    const [n, e] = [text(COSE.n, RSA_BYTES.min, RSA_BYTES.max), text(COSE.e, 1, 4)]
    return n && e ? { kty: 'RSA', n, e } : null
  }
  return null
}

const MAJOR = { unsigned: 0, negative: 1, bytes: 2, map: 5 } as const

/** A map of integers to integers or bytes, lengths definite and as short as they can be, each label once, nothing behind it. */
function readIntegerMap(bytes: Uint8Array): CoseMap | null {
  let at = 0
  /** Null for what is cut off, indefinite, longer than it must be, or of more than two bytes. */
  const head = (): { major: number; argument: number } | null => {
    const first = bytes[at++]
    if (first === undefined) return null
    const [major, info] = [first >> 5, first & 31]
    if (info < 24) return { major, argument: info }
    const size = info === 24 ? 1 : info === 25 ? 2 : null
    if (size === null || at + size > bytes.length) return null
    const argument = Buffer.from(bytes).readUIntBE(at, size)
    at += size
    return argument < (size === 1 ? 24 : 256) ? null : { major, argument }
  }
  const integer = (): number | null => {
    const found = head()
    if (found?.major === MAJOR.unsigned) return found.argument
    return found?.major === MAJOR.negative ? -1 - found.argument : null
  }
  const value = (): Value | null => {
    const start = at
    const found = head()
    if (found?.major !== MAJOR.bytes) {
      at = start
      return integer()
    }
    if (at + found.argument > bytes.length) return null
    at += found.argument
    return bytes.subarray(at - found.argument, at)
  }
  const outer = head()
  if (outer?.major !== MAJOR.map) return null
  const map = new Map<number, Value>()
  for (let pair = 0; pair < outer.argument; pair += 1) {
    const label = integer()
    const item = value()
    if (label === null || item === null || map.has(label)) return null
    map.set(label, item)
  }
  return at === bytes.length ? map : null
}
