/** Metadata: a merchant's own key/value pairs, kept with every digit of every number as it was written. */
import { invalidField } from '../core/errors.ts'
import { parseVerbatim } from '../core/json.ts'

const KEYS_MAX = 50
const KEY_LENGTH_MAX = 40
const STRING_LENGTH_MAX = 500
const BYTES_MAX = 16 * 1024

/**
 * The JSON text to store for the `metadata` of a body.
 *
 * @param bodyText - The body as it was sent, already known to be an object whose `metadata` is one.
 * @throws {Refusal} `invalid` with the first bound that does not hold.
 */
export function readMetadata(bodyText: string): string {
  const body = parseVerbatim(bodyText) as { metadata: Record<string, unknown> }
  const { metadata } = body
  const keys = Object.keys(metadata)
  if (keys.length > KEYS_MAX) {
    throw tooMuch('metadata', `holds at most ${KEYS_MAX} keys, got ${keys.length}`)
  }
  checkLengths('metadata', metadata)
  const text = JSON.stringify(metadata)
  const bytes = Buffer.byteLength(text)
  if (bytes > BYTES_MAX) throw tooMuch('metadata', `has at most ${BYTES_MAX} bytes of JSON, got ${bytes}`)
  return text
}

/** The depth of a body is bounded before, so this recursion is too. */
function checkLengths(field: string, value: unknown): void {
  if (typeof value === 'string') requireShort(field, 'text', value, STRING_LENGTH_MAX)
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return
  for (const [key, inner] of Object.entries(value)) {
    requireShort(field, 'key', key, KEY_LENGTH_MAX)
    checkLengths(`${field}.${key}`, inner)
  }
}

function requireShort(field: string, what: 'text' | 'key', text: string, most: number): void {
  const { length } = [...text]
  if (length > most)
    throw tooMuch(field, `a ${what} in metadata has at most ${most} characters, got ${length}`)
}

const tooMuch = (field: string, message: string) => invalidField(field, 'metadata_too_large', message)
