/** To the OpenID provider and back. What is on its way is kept in the browser that began it, sealed. */
import { notFound, unauthenticated } from '../../../core/errors.ts'
import { MINUTE_MS } from '../../../core/time.ts'
import { signOn, stepUpBySignOn } from '../../../flows/people/sign-on.ts'
import type { PendingSignOn, SingleSignOn } from '../../../users/single-sign-on.ts'
import { clearPassing, readPassing, writePassing } from '../cookie.ts'
import { nextPath, origin, signedInMove } from '../next-path.ts'
import { type Call, type DashboardRow, type Move, type PersonCall, personRow, publicRow } from '../row.ts'
import { readSession } from '../session.ts'

const COOKIE = 'sign-on'
const WITHIN_MS = 10 * MINUTE_MS

interface Passing {
  readonly pending: PendingSignOn
  readonly next: string
  /** Whose session is to be confirmed; null for a sign-in. */
  readonly stepUp: string | null
  readonly until: number
}

/** @throws {Refusal} `not_found`, where the operator set no provider. */
function providerOf(call: Call): SingleSignOn {
  const { singleSignOn } = call.installation
  if (singleSignOn) return singleSignOn
  throw notFound('no_single_sign_on', 'this Beck has no single sign-on')
}

/** The one address that the provider may send browsers back to. */
const backAt = (call: Call): string => `${call.gateway.settings.dashboardUrl}/dashboard/sign-in/sso/back`

async function leave(call: Call, stepUp: string | null): Promise<Move> {
  const isAgain = stepUp !== null
  const { url, pending } = await providerOf(call).begin(backAt(call), { isAgain })
  const passing: Passing = { pending, next: nextPath(call), stepUp, until: Date.now() + WITHIN_MS }
  const sealed = call.gateway.secrets.seal('sign-on', COOKIE, Buffer.from(JSON.stringify(passing)))
  writePassing(call.gateway, call.reply, COOKIE, sealed.toString('base64url'), WITHIN_MS)
  return { to: url }
}

function passingOf(call: Call): Passing {
  try {
    const sealed = Buffer.from(readPassing(call.gateway, call.request, COOKIE), 'base64url')
    const passing: Passing = JSON.parse(call.gateway.secrets.open('sign-on', COOKIE, sealed).toString('utf8'))
    if (passing.until > Date.now()) return passing
  } catch {
    // Nobody's, or another key's: told below.
  }
  throw unauthenticated(
    'sign_on_refused',
    'this browser did not begin that sign-in, or it took too long; begin again',
  )
}

async function comeBack(call: Call): Promise<Move> {
  const provider = providerOf(call)
  const passing = passingOf(call)
  clearPassing(call.gateway, call.reply, COOKIE)
  const query = call.request.url.split('?')[1] ?? ''
  const identity = await provider.finish(new URL(`${backAt(call)}?${query}`), passing.pending)
  if (passing.stepUp !== null) {
    const session = await readSession(call)
    if (!session || session.id !== passing.stepUp)
      throw unauthenticated('sign_on_refused', 'your session is over; sign in again')
    const { token } = await stepUpBySignOn(call.gateway, session, identity, origin(call))
    return { to: passing.next, token }
  }
  return signedInMove(call, await signOn(call.gateway, identity, origin(call)), passing.next)
}

export const signOnRows: readonly DashboardRow[] = [
  publicRow('GET /sign-in/sso', { handle: (call) => leave(call, null) }),
  publicRow('GET /sign-in/sso/back', { handle: comeBack }),
  personRow('person', 'GET /step-up/sso', { handle: (call: PersonCall) => leave(call, call.session.id) }),
]
