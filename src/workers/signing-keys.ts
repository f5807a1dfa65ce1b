/** Secrets of endpoints, kept open: opening one takes longer than signing with it. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { WebhookEndpointId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import { openWebhookSecret } from '../events/webhook-endpoints.sql.ts'

const KEYS_MAX = 1_000

export class SigningKeys {
  readonly #secrets: Secrets
  readonly #keys = new Map<string, KeyObject>()

  constructor(secrets: Secrets) {
    this.#secrets = secrets
  }

  /** @param sealed - As the endpoint's row holds it. */
  open(endpointId: WebhookEndpointId, sealed: Buffer): KeyObject {
    const name = `${endpointId} ${sealed.toString('base64')}`
    const key = this.#keys.get(name) ?? createSecretKey(openWebhookSecret(this.#secrets, endpointId, sealed))
    if (this.#keys.size >= KEYS_MAX) this.#keys.clear()
    this.#keys.set(name, key)
    return key
  }
}
