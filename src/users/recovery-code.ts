/** Codes for the day the phone is lost: ten of 80 bits, each good once. */
import { createHash, randomBytes } from 'node:crypto'

/** Crockford's alphabet: no letter that reads like a digit. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const CODES = 10
const SYMBOLS = 16

export const newRecoveryCodes = (): string[] =>
  Array.from({ length: CODES }, () => {
    // 256 is a multiple of 32, so every symbol is equally likely.
    const symbols = [...randomBytes(SYMBOLS)].map((byte) => ALPHABET[byte % 32]).join('')
    return symbols.replace(/(.{4})(?=.)/g, '$1-')
  })

/** Hyphens, spaces and capitals are forgiven. Null when the text cannot be a code. */
export function readRecoveryCode(text: string): Buffer | null {
  const symbols = text.toLowerCase().replace(/[\s-]/g, '')
  return /^[0-9a-hjkmnp-tv-z]{16}$/.test(symbols) ? hashRecoveryCode(symbols) : null
}

export const hashRecoveryCode = (code: string): Buffer =>
  createHash('sha256').update(code.replaceAll('-', '')).digest()
