/** The session's cookie. `__Host-` binds it to this very origin over https; on plain http there is no such thing. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Gateway } from '../../flows/gateway.ts'

const isHttps = ({ settings }: Pick<Gateway, 'settings'>): boolean =>
  settings.dashboardUrl.startsWith('https:')

const nameOf = (gateway: Pick<Gateway, 'settings'>): string => (isHttps(gateway) ? '__Host-beck' : 'beck')

/** The token that the request carries; empty for none, and for more than one, of which nobody knows which is right. */
export function readCookie(gateway: Pick<Gateway, 'settings'>, request: FastifyRequest): string {
  const name = `${nameOf(gateway)}=`
  const found = (request.headers.cookie ?? '').split(/; */).filter((each) => each.startsWith(name))
  return found.length === 1 ? (found[0] ?? '').slice(name.length) : ''
}

/** @param token - Null takes the cookie away. */
export function writeCookie(
  gateway: Pick<Gateway, 'settings'>,
  reply: FastifyReply,
  token: string | null,
): void {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax', ...(isHttps(gateway) ? ['Secure'] : [])]
  // It ends with the browser; the server ends it sooner.
  if (token === null) attributes.push('Max-Age=0')
  reply.header('Set-Cookie', [`${nameOf(gateway)}=${token ?? ''}`, ...attributes].join('; '))
}

/** Plain http is for one's own machine: elsewhere a session could be read on its way, so nothing live is shown. */
export const isSafeTransport = (gateway: Pick<Gateway, 'settings'>): boolean =>
  isHttps(gateway) ||
  ['localhost', '127.0.0.1', '[::1]'].includes(new URL(gateway.settings.dashboardUrl).hostname)
