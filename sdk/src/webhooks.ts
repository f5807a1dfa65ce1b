/** Checks that an event came from Beck: Standard Webhooks, HMAC-SHA256 over id, time and the raw body. */
import type { WebhookEvent } from './types.ts'

export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
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
 */
export async function verify(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | readonly string[] | undefined>,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
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
  const given = signatures.split(' ').flatMap((entry) => (entry.startsWith('v1,') ? [entry.slice(3)] : []))
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    const key = await crypto.subtle.importKey(
      'raw',
      bytes(secret.replace(/^whsec_/, '')),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['verify'],
    )
    for (const signature of given) {
      // `verify` compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, bytes(signature), signed)) return JSON.parse(text)
    }
  }
  throw new WebhookVerificationError(
    'no signature of this webhook matches: is the secret that of this endpoint, and the body raw?',
  )
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array(1)
  }
}
