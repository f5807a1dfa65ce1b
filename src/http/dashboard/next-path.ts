/** Where somebody wanted to go before he was asked who he is, and where he comes from. */
import type { Session } from '../../users/sessions.sql.ts'
import { rootOf } from './root.ts'
import type { Call, Move } from './row.ts'

/** A path of the dashboard that was asked for before the sign-in; anything else leads to the beginning. */
export function nextPath(call: Call): string {
  const next = call.form.get('next') || call.query.next || ''
  const isOurs = /^\/dashboard([/?][\w\-./?&=%+:,@]*)?$/.test(next) && !next.includes('//')
  return isOurs ? rootOf(call.gateway) + next : call.base
}

export const origin = (call: Call) => ({
  address: call.request.ip,
  agent: call.request.headers['user-agent'] ?? '',
})

/** From a sign-in on to where somebody wanted to go; past the other half of it where that is still to come. */
export function signedInMove(
  call: Call,
  { token, factor }: { readonly token: string; readonly factor: Session['factor'] },
  next: string,
): Move {
  if (factor !== 'half') return { to: next, token }
  const carried = next.slice(rootOf(call.gateway).length)
  return { to: `${call.base}/sign-in/factor?next=${encodeURIComponent(carried)}`, token }
}
