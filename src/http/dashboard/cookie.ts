/** The session's cookie. `__Host-` binds it to this very origin over https; on plain http there is no such thing. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Gateway } from '../../flows/gateway.ts'

const isHttps = ({ settings }: Pick<Gateway, 'settings'>): boolean =>
  settings.dashboardUrl.startsWith('https:')

const nameOf = (gateway: Pick<Gateway, 'settings'>): string => (isHttps(gateway) ? '__Host-beck' : 'beck')

/** The token that the request carries; empty for none, and for more than one, of which nobody knows which is right. */
export function readCookie(gateway: Pick<Gateway, 'settings'>, request: FastifyRequest): string {
  return readNamed(request, nameOf(gateway))
}

function readNamed(request: FastifyRequest, name: string): string {
  const found = (request.headers.cookie ?? '').split(/; */).filter((each) => each.startsWith(`${name}=`))
  return found.length === 1 ? (found[0] ?? '').slice(name.length + 1) : ''
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

/** Cookies that pass by: what is on its way to another site and back, for some minutes. */
const passingName = (gateway: Pick<Gateway, 'settings'>, name: string): string => `${nameOf(gateway)}-${name}`

export function readPassing(
  gateway: Pick<Gateway, 'settings'>,
  request: FastifyRequest,
  name: string,
): string {
  return readNamed(request, passingName(gateway, name))
}

export function writePassing(
  gateway: Pick<Gateway, 'settings'>,
  reply: FastifyReply,
  name: string,
  value: string,
  lifeMs: number,
): void {
  const secure = isHttps(gateway) ? '; Secure' : ''
  const life = Math.floor(lifeMs / 1_000)
  reply.header(
    'Set-Cookie',
    `${passingName(gateway, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${life}${secure}`,
  )
}

export const clearPassing = (gateway: Pick<Gateway, 'settings'>, reply: FastifyReply, name: string): void =>
  writePassing(gateway, reply, name, '', 0)

/** Plain http is for one's own machine: elsewhere a session could be read on its way, so nothing live is shown. */
export const isSafeTransport = (gateway: Pick<Gateway, 'settings'>): boolean =>
  isHttps(gateway) ||
  ['localhost', '127.0.0.1', '[::1]'].includes(new URL(gateway.settings.dashboardUrl).hostname)
