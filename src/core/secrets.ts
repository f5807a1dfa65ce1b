/**
 * What BECK_SECRET_KEY does: seals secrets that rest in the database, and authenticates rows so that whoever can
 * write to PostgreSQL alone cannot invent them. Each purpose has a key of its own (HKDF-SHA256), so that a value made
 * for one purpose never passes for another.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { InvariantBroken } from './errors.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface Secrets {
  /** AES-256-GCM; the owner (an id) is bound in, so that a sealed value moved to another row does not open. */
  seal(purpose: string, owner: string, plaintext: Uint8Array): Buffer
  /** @throws {InvariantBroken} when the value was not sealed for this purpose and owner under this key. */
  open(purpose: string, owner: string, sealed: Uint8Array): Buffer
  /** HMAC-SHA256 over the parts, each with its length, so that no two lists of parts read alike. */
  mac(purpose: string, parts: readonly (string | Uint8Array)[]): Buffer
  /** Compares in constant time. */
  isMac(mac: Uint8Array, purpose: string, parts: readonly (string | Uint8Array)[]): boolean
}

/** Reads BECK_SECRET_KEY: 32 bytes as 64 hexadecimal digits or as base64. @throws {RangeError} for anything else. */
export function readSecretKey(text: string): Buffer {
  const key = Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64')
  if (key.length !== 32)
    throw new RangeError('BECK_SECRET_KEY is 32 bytes, written as 64 hexadecimal digits or as base64')
  return key
}

/**
 * @param key - The operator's 32 bytes: everything new is made with it.
 * @param also - A second key that is accepted: the one to come, or the one that goes (docs/operators.md).
 */
export function openSecrets(key: Uint8Array, also: Uint8Array | null = null): Secrets {
  const current = openOne(key)
  if (also === null) return current
  const other = openOne(also)
  return {
    ...current,
    open(purpose, owner, sealed) {
      try {
        return current.open(purpose, owner, sealed)
      } catch {
        return other.open(purpose, owner, sealed)
      }
    },
    isMac: (given, purpose, parts) =>
      current.isMac(given, purpose, parts) || other.isMac(given, purpose, parts),
  }
}

/** Names a key for people and for the database's record of it; tells nothing about the key. */
export const keyIdOf = (key: Uint8Array): string =>
  Buffer.from(hkdfSync('sha256', key, '', 'beck:key-id', 6)).toString('hex')

function openOne(key: Uint8Array): Secrets {
  if (key.length !== 32) throw new RangeError(`BECK_SECRET_KEY is 32 bytes, got ${key.length}`)
  // As objects of Node's: it takes five times as long to use a key that is bytes.
  const derived = new Map<string, KeyObject>()
  const keyFor = (purpose: string): KeyObject => {
    const known =
      derived.get(purpose) ?? createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `beck:${purpose}`, 32)))
    derived.set(purpose, known)
    return known
  }
  const mac = (purpose: string, parts: readonly (string | Uint8Array)[]): Buffer => {
    const bytes = parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part))
    // In one piece: each call into OpenSSL costs more than what it hashes.
    const message = Buffer.allocUnsafe(bytes.reduce((sum, part) => sum + 4 + part.length, 0))
    let at = 0
    for (const part of bytes) {
      message.set(part, message.writeUInt32BE(part.length, at))
      at += 4 + part.length
    }
    return createHmac('sha256', keyFor(`mac:${purpose}`))
      .update(message)
      .digest()
  }
  return {
    seal(purpose, owner, plaintext) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyFor(`seal:${purpose}`), nonce).setAAD(
        Buffer.from(owner),
      )
      return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
    },
    open(purpose, owner, sealed) {
      const bytes = Buffer.from(sealed)
      try {
        const decipher = createDecipheriv(
          'aes-256-gcm',
          keyFor(`seal:${purpose}`),
          bytes.subarray(0, NONCE_BYTES),
        )
        decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      } catch {
        throw new InvariantBroken(
          `a sealed ${purpose} does not open: another BECK_SECRET_KEY, or a row was tampered with`,
        )
      }
    },
    mac,
    isMac: (given, purpose, parts) => {
      const expected = mac(purpose, parts)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
