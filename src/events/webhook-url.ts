/** Which URLs may be registered as webhook endpoints. What a name resolves to is checked when it is connected to. */
import { isIP } from 'node:net'
import { parseAbsoluteUrl } from '../core/absolute-url.ts'
import { invalidField } from '../core/errors.ts'
import { isPublicAddress } from './public-address.ts'

export const WEBHOOK_URL_LENGTH_MAX = 2_048

export interface WebhookUrlPolicy {
  /** BECK_WEBHOOK_ALLOW_PRIVATE: closed networks may use http and private addresses. */
  readonly allowPrivate: boolean
}

/**
 * Checks a URL that a merchant wants events sent to.
 *
 * @returns The URL as it was given.
 * @throws {Refusal} `invalid` on field `url`, with reason `invalid_url`, `url_not_https`, `url_with_credentials` or
 *   `url_not_public`.
 */
export function parseWebhookUrl(text: string, policy: WebhookUrlPolicy): string {
  const url = parseAbsoluteUrl(text, WEBHOOK_URL_LENGTH_MAX)
  if (!url) {
    throw invalidField(
      'url',
      'invalid_url',
      `url is not an absolute URL of at most ${WEBHOOK_URL_LENGTH_MAX} characters; send one like https://shop.example/hook`,
    )
  }
  if (url.protocol !== 'https:' && !(policy.allowPrivate && url.protocol === 'http:')) {
    throw invalidField(
      'url',
      'url_not_https',
      `url begins with ${url.protocol}//; events are sent to https:// only (on your own machine, \`npx beck listen\` brings them to http)`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidField(
      'url',
      'url_with_credentials',
      'url holds a user or password; leave them out and verify the signature of each event instead',
    )
  }
  if (!policy.allowPrivate && !mayBePublic(hostOf(url))) {
    throw invalidField(
      'url',
      'url_not_public',
      'the host of url is not on the public internet; use a public host name (test locally with `npx beck listen`)',
    )
  }
  return text
}

/** The host without the brackets around an IPv6 address. URL has already brought every notation to one form. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')

function mayBePublic(host: string): boolean {
  if (isIP(host) !== 0) return isPublicAddress(host)
  const name = host.replace(/\.$/, '')
  return name !== 'localhost' && !name.endsWith('.localhost')
}
