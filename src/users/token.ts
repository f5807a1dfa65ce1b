/** Secrets that people carry in cookies and links: 256 random bits, of which only the SHA-256 is kept. */
import { createHash, randomBytes } from 'node:crypto'

export interface Token {
  /** Shown or set once. */
  readonly text: string
  readonly hash: Buffer
}

export const hashToken = (text: string): Buffer => createHash('sha256').update(text).digest()

export function newToken(): Token {
  const text = randomBytes(32).toString('base64url')
  return { text, hash: hashToken(text) }
}

/** Null when the text cannot be a token. */
export const readToken = (text: string): Buffer | null => (/^[\w-]{43}$/.test(text) ? hashToken(text) : null)
