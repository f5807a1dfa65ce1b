/** What a browser sends along of what the hosted pages gave it. */
import type { FastifyRequest } from 'fastify'

/** Empty for none. */
export function readCookie({ headers: { cookie = '' } }: FastifyRequest, name: string): string {
  const found = cookie.split(/; */).find((each) => each.startsWith(`${name}=`))
  return found?.slice(name.length + 1) ?? ''
}
