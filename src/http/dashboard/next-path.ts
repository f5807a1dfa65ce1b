/** Where somebody wanted to go before he was asked who he is, and where he comes from. */
import { rootOf } from './root.ts'
import type { Call } from './row.ts'

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
