/** Reads what forms send. How many fields there are is asked of the bytes first: each one costs, and a megabyte may hold half a million. */
import { invalid } from '../core/errors.ts'

const SEPARATOR = '&'.charCodeAt(0)

/**
 * Reads `application/x-www-form-urlencoded`.
 *
 * @throws {Refusal} `invalid`, `malformed_form`, when there are too many.
 */
export function readUrlEncoded(bytes: Buffer, fieldsMax: number): [string, string][] {
  requireFew(bytes, SEPARATOR, fieldsMax - 1)
  return [...new URLSearchParams(bytes.toString('utf8'))]
}

/** As browsers write it. */
const MULTIPART = /^multipart\/form-data; *boundary="?([\w'-]{1,70})"?$/i

/**
 * Reads `multipart/form-data`.
 *
 * @param type - The header `Content-Type`, which says where a field ends.
 * @throws {Refusal} `invalid`, `malformed_form`, when there are too many fields, or they cannot be read.
 */
export async function readMultipart(
  type: string,
  bytes: Buffer,
  fieldsMax: number,
): Promise<[string, string | Blob][]> {
  const boundary = MULTIPART.exec(type)?.[1]
  if (boundary === undefined) throw unreadable()
  // One before each field, and one at the end.
  requireFew(bytes, `--${boundary}`, fieldsMax + 1)
  // The boundary that was counted, and no other that somebody could read from the header.
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  const fields = await new Response(new Uint8Array(bytes), { headers }).formData().catch(() => {
    throw unreadable()
  })
  return [...fields]
}

function requireFew(bytes: Buffer, separator: number | string, most: number): void {
  let count = 0
  for (let at = bytes.indexOf(separator); at !== -1; at = bytes.indexOf(separator, at + 1)) {
    count += 1
    if (count > most) throw invalid('malformed_form', 'the form has too many fields')
  }
}

const unreadable = () => invalid('malformed_form', 'the form cannot be read; load the page again')
