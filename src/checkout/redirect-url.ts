/** Where a buyer may be sent after a checkout. */
import { invalidField } from '../core/errors.ts'

const LENGTH_MAX = 2_048
/** URL parsers silently drop these, so that what is checked would not be what is kept. */
const SPACE_OR_CONTROL = /[\s\p{Cc}]/u

/**
 * Checks a URL that a buyer is redirected to. A browser follows it, so private hosts are fine; only http and https,
 * so that no script can hide in it.
 *
 * @returns The URL as it was given.
 * @throws {Refusal} `invalid` on the field, with reason `invalid_url`.
 */
export function parseRedirectUrl(field: string, text: string): string {
  const url = text.length <= LENGTH_MAX && !SPACE_OR_CONTROL.test(text) ? URL.parse(text) : null
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
