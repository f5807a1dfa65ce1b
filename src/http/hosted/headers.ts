/** What browsers are told about a hosted page: run nothing but ours, frame it only where the merchant says. */
import { randomBytes } from 'node:crypto'
import type { FastifyReply } from 'fastify'

export const newNonce = (): string => randomBytes(16).toString('base64')

/** What every answer says, whatever becomes of it: errors, redirects and what has no page too. */
export const protectAnswer = (reply: FastifyReply): FastifyReply =>
  reply
    .header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
    .header('Referrer-Policy', 'same-origin')
    .header('X-Content-Type-Options', 'nosniff')
    .header('X-Robots-Tag', 'noindex')
    .header('Cache-Control', 'no-store')

/**
 * No third party, nothing inline without the nonce. The referrer stays on this origin: other sites get none, and
 * forms of ours keep an `Origin` that can be checked (with `no-referrer` it would be `null`).
 */
export function protect(reply: FastifyReply, nonce: string, frameOrigins: readonly string[]): FastifyReply {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${frameOrigins.length > 0 ? frameOrigins.join(' ') : "'none'"}`,
  ]
  return protectAnswer(reply)
    .header('Content-Security-Policy', policy.join('; '))
    .header('Permissions-Policy', 'camera=(), microphone=(), geolocation=()')
}
