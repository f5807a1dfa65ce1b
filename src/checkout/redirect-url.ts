/** Where a buyer may be sent after a checkout. */
import { parseAbsoluteUrl } from '../core/absolute-url.ts'
import { invalidField } from '../core/errors.ts'

const LENGTH_MAX = 2_048

/**
 * Checks a URL that a buyer is redirected to. A browser follows it, so private hosts are fine; only http and https,
 * so that no script can hide in it.
 *
 * @returns The URL as it was given.
 * @throws {Refusal} `invalid` on the field, with reason `invalid_url`.
 */
export function parseRedirectUrl(field: string, text: string): string {
  const url = parseAbsoluteUrl(text, LENGTH_MAX)
  if (
    url &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === ''
  ) {
    return text
  }
  throw invalidField(
    field,
    'invalid_url',
    `${field} must be an absolute http or https URL of at most ${LENGTH_MAX} characters, without a user or password; ` +
      'send one like https://shop.example/thanks',
  )
}
