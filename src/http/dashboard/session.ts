import { findSession, type Session, touchSession } from '../../users/sessions.sql.ts'
import { readToken } from '../../users/token.ts'
import { readCookie } from './cookie.ts'
import type { Call } from './row.ts'

/**
 * Who the request's cookie is of; null for nobody. A session in use does not grow idle; a page that looks again by itself is
 * not in use.
 */
export async function readSession(call: Call): Promise<Session | null> {
  const hash = readToken(readCookie(call.gateway, call.request))
  const session = hash && (await findSession(call.gateway.db, hash))
  const looksAgain = call.request.method === 'GET' && 'x-look' in call.request.headers
  if (session && !looksAgain) await touchSession(call.gateway.db, session.id)
  return session
}
