/**
 * The signature of Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`, one per secret, so that a receiver
 * that knows only the old or only the new secret of a rotation accepts the same request.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { createHmac, type KeyObject } from 'node:crypto'

export interface SignedMessage {
  /** The event's id: the same at every attempt, so that the receiver can tell a repetition. */
  readonly id: string
  /** When this attempt is made. The signature carries whole seconds. */
  readonly at: Date
  readonly body: string
}

/** @param secrets - Raw keys, not their `whsec_` form; at least one. As objects, for whoever uses them often. */
export function signatureHeaders(
  message: SignedMessage,
  secrets: readonly (Uint8Array | KeyObject)[],
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(message.at.getTime() / 1_000))
  const signatures = secrets.map(
    (secret) =>
      `v1,${createHmac('sha256', secret).update(`${message.id}.${timestamp}.${message.body}`).digest('base64')}`,
  )
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
