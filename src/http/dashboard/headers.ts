/** What browsers are told about every page of the dashboard: run nothing but ours, and let nobody frame it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { forbidden } from '../../core/errors.ts'

/** @param nonce - Null for what has no page: nothing runs there at all. */
export function protectDashboard(reply: FastifyReply, nonce: string | null): FastifyReply {
  const policy = [
    "default-src 'none'",
    ...(nonce === null ? [] : [`script-src 'nonce-${nonce}'`, `style-src 'nonce-${nonce}'`]),
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
  return reply
    .header('Content-Security-Policy', policy.join('; '))
    .header('X-Frame-Options', 'DENY')
    .header('Referrer-Policy', 'same-origin')
    .header('X-Content-Type-Options', 'nosniff')
    .header('X-Robots-Tag', 'noindex')
    .header('Cache-Control', 'no-store')
    .header('Cross-Origin-Opener-Policy', 'same-origin')
    .header('Cross-Origin-Resource-Policy', 'same-origin')
    .header(
      'Permissions-Policy',
      'camera=(), microphone=(), geolocation=(), publickey-credentials-get=(self), publickey-credentials-create=(self)',
    )
}

/**
 * A change must come from a page of ours. Browsers say where a form comes from in one header or the other; what says
 * nothing is no browser of today.
 *
 * @throws {Refusal} `forbidden`, `foreign_form`.
 */
export function requireOwnForm(request: FastifyRequest, dashboardUrl: string): void {
  const { origin, host, 'sec-fetch-site': site } = request.headers
  const own = new URL(dashboardUrl).origin
  const isOwnSite = site === undefined || site === 'same-origin'
  const isOwnOrigin = origin === undefined || origin === own || URL.parse(origin)?.host === host
  if (isOwnSite && isOwnOrigin && (site !== undefined || origin !== undefined)) return
  throw forbidden(
    'foreign_form',
    `this form was not sent from the dashboard at ${own}; open it there and try again`,
  )
}
