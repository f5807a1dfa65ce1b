/**
 * API keys: `bk_live_` or `bk_test_`, 32 base62 characters of secret (190 bits), 6 of checksum. The checksum tells a
 * mistyped or cut-off key from a wrong one without asking the database, and lets scanners recognise a leaked key.
 * Only the SHA-256 of a key is stored: with 190 random bits there is nothing for a slow hash to protect.
 */
import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { MODES, type Mode } from '../core/assets.ts'
import { invalidField } from '../core/errors.ts'
import { SCOPES, type Scope } from '../core/scopes.ts'

const isScope = (value: string): value is Scope => (SCOPES as readonly string[]).includes(value)

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^bk_(live|test)_[0-9A-Za-z]{38}$/

/** A new key with its checksum. The caller shows it once and keeps only its hash. */
export function newApiKey(mode: Mode): string {
  const body = `bk_${mode}_${randomBase62(SECRET_LENGTH)}`
  return body + checksum(body)
}

/**
 * Reads a key as a caller sent it.
 *
 * @returns The mode it names and the hash it is stored under; null when it is not a key at all (shape or checksum).
 */
export function parseApiKey(text: string): { mode: Mode; hash: Buffer } | null {
  const match = SHAPE.exec(text)
  const mode = MODES.find((known) => known === match?.[1])
  if (!mode || checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)) return null
  return { mode, hash: hashApiKey(text) }
}

/** SHA-256 of the whole key: 32 bytes. */
export const hashApiKey = (key: string): Buffer => createHash('sha256').update(key).digest()

/**
 * Reads `all` or a comma-separated list of scopes.
 *
 * @throws {Refusal} `invalid`, reason `unknown_scope`, that lists the scopes there are.
 */
export function readScopes(text: string): Scope[] {
  if (text.trim() === 'all') return [...SCOPES]
  const wanted = text.split(',').map((part) => part.trim())
  const unknown = wanted.filter((scope) => !isScope(scope))
  if (unknown.length > 0) {
    throw invalidField(
      'scopes',
      'unknown_scope',
      `unknown scope ${unknown.map((scope) => `"${scope}"`).join(', ')}; give "all" or some of ${SCOPES.join(', ')}`,
    )
  }
  return SCOPES.filter((scope) => wanted.includes(scope))
}

/** CRC-32 of the rest of the key in six base62 digits, as in GitHub's tokens: a guard against slips, not forgers. */
function checksum(body: string): string {
  let rest = crc32(body)
  let digits = ''
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit++) {
    digits = BASE62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** Bytes of 248 and more are thrown away, so that every digit is equally likely. */
function randomBase62(length: number): string {
  let digits = ''
  while (digits.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && digits.length < length) digits += BASE62.charAt(byte % 62)
    }
  }
  return digits
}
