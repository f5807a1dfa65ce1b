/** `/.well-known/security.txt` (RFC 9116): whom to tell of a weakness, when the operator said whom. */
import type { FastifyInstance } from 'fastify'
import { DAY_MS } from '../core/time.ts'

/** What it says is what the settings say now; who keeps a copy is to ask again. RFC 9116 advises less than a year. */
const GOOD_FOR_DAYS = 90

/** A `mailto:`, `https:` or `tel:` URI; an address of email alone becomes the first. Null for anything else. */
export function readSecurityContact(text: string): string | null {
  if (/\s/.test(text) || text.length > 2_048) return null
  if (/^[^@:/]+@[^@:/]+$/.test(text)) return `mailto:${text}`
  return ['mailto:', 'https:', 'tel:'].includes(URL.parse(text)?.protocol ?? '') ? text : null
}

export function registerSecurityContact(app: FastifyInstance, publicUrl: string, contact: string): void {
  const path = '/.well-known/security.txt'
  app.get(path, async (_request, reply) => {
    const expires = new Date(Date.now() + GOOD_FOR_DAYS * DAY_MS)
    // To the day, so that two answers do not differ by when they were asked for.
    expires.setUTCHours(0, 0, 0, 0)
    const lines = [
      `Contact: ${contact}`,
      `Expires: ${expires.toISOString()}`,
      'Preferred-Languages: en',
      `Canonical: ${publicUrl}${path}`,
    ]
    reply
      .type('text/plain; charset=utf-8')
      .header('Cache-Control', 'max-age=3600')
      .send(`${lines.join('\n')}\n`)
  })
}
