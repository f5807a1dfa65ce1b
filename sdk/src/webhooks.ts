/** Checks that an event came from Beck: Standard Webhooks, HMAC-SHA256 over id, time and the raw body. */
import type { WebhookEvent } from './types.ts'

export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
}

/** The secret itself is unusable: a mistake in the receiver's settings, never the sender's. Let it stop the program. */
export class WebhookSecretError extends Error {
  override readonly name = 'WebhookSecretError'
}

export interface VerifyOptions {
  /** How far the sender's clock may be off, in seconds; 300 unless set. */
  readonly toleranceSeconds?: number
  /** Now, in milliseconds; for tests. */
  readonly nowMs?: number
}

/**
 * Verifies a webhook and returns its event.
 *
 * @param body - The raw body as it arrived, bytes or text. Parsed and written again it will not match.
 * @param headers - The request's headers, as an object or as `Headers`.
 * @param secrets - The endpoint's `whsec_…`, or several while one is rotated out.
 * @throws {WebhookVerificationError} when it is not from Beck, or too old.
 * @throws {WebhookSecretError} at once, whatever was signed, when a secret is not one that Beck gave out.
 */
export async function verify(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | readonly string[] | undefined>,
  secrets: string | undefined | readonly (string | undefined)[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const keys = (typeof secrets === 'object' ? secrets : [secrets]).map(keyOf)
  if (keys.length === 0)
    throw new WebhookSecretError('no webhook secret was given, expected one or more whsec_…')
  const header = (name: string): string => {
    const value =
      headers instanceof Headers
        ? headers.get(name)
        : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
    if (typeof value !== 'string' || value === '')
      throw new WebhookVerificationError(`the ${name} header is missing`)
    return value
  }
  const [id, timestamp, signatures] = [
    header('webhook-id'),
    header('webhook-timestamp'),
    header('webhook-signature'),
  ]
  const ageSeconds = Math.abs((options.nowMs ?? Date.now()) / 1_000 - Number(timestamp))
  if (!/^\d+$/.test(timestamp) || ageSeconds > (options.toleranceSeconds ?? 300)) {
    throw new WebhookVerificationError(`the webhook-timestamp ${timestamp.slice(0, 20)} is too far from now`)
  }
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
  const given = signatures
    .split(' ')
    .flatMap((entry) => (entry.startsWith('v1,') ? (bytesOf(entry.slice(3)) ?? []) : []))
  for (const secret of keys) {
    const hmac = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', secret, hmac, false, ['verify'])
    for (const signature of given) {
      // `verify` compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return JSON.parse(text)
    }
  }
  throw new WebhookVerificationError(
    'no signature of this webhook matches: is the secret that of this endpoint, and the body raw?',
  )
}

/** Standard Webhooks asks for 24 bytes at least; Beck's have 32. */
const SECRET_BYTES_MIN = 24

/** A secret that does not decode must never become a key that others can guess. */
function keyOf(secret: unknown, index: number): Uint8Array<ArrayBuffer> {
  const key = typeof secret === 'string' && secret.startsWith('whsec_') ? bytesOf(secret.slice(6)) : null
  if (key && key.length >= SECRET_BYTES_MIN) return key
  throw new WebhookSecretError(
    `webhook secret ${index + 1} is not one of Beck's: expected whsec_ and base64 of ${SECRET_BYTES_MIN} bytes or more, as POST /webhooks answered it; is its variable set?`,
  )
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Strictly: the alphabet and the padding of RFC 4648 and nothing else; null for any other text. */
const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | null =>
  BASE64.test(base64) ? Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)) : null
