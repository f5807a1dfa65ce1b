/** Who may have a row: the one guard before every page and every change of the dashboard. */
import type { FastifyReply } from 'fastify'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { forbidden, notFound, Refusal } from '../../core/errors.ts'
import { readId } from '../../core/ids.ts'
import { requireTestAccount } from '../../flows/sandbox.ts'
import { may, type Permission } from '../../users/permissions.ts'
import type { Session } from '../../users/sessions.sql.ts'
import { answer, sendTrouble } from './answer.ts'
import { answerConfirmed } from './answer-confirmed.ts'
import { isSafeTransport } from './cookie.ts'
import type { Frame } from './layout.ts'
import { rootOf } from './root.ts'
import type { Call, DashboardRow, PersonCall, Place, PlaceCall } from './row.ts'
import { readSession } from './session.ts'

export async function admit(row: DashboardRow, call: Call): Promise<FastifyReply> {
  let frame: Frame = { call, person: null, place: null }
  try {
    if (row.access === 'public') {
      const session = await readSession(call)
      if (session && session.factor !== 'half') frame = { ...frame, person: personCall(call, session) }
      return await answer(frame, row, call)
    }
    const session = await readSession(call)
    if (!session) return sendToSignIn(call)
    const person = personCall(call, session)
    if (session.factor === 'half') {
      if (row.access === 'half') return await answer({ ...frame, person }, row, person)
      return await call.reply.code(303).header('Location', `${call.base}/sign-in/factor`).send()
    }
    frame = { ...frame, person }
    if (row.access === 'half' || row.access === 'person') return await answerConfirmed(frame, row, person)
    if (row.access === 'operator') {
      if (!session.isOperator) throw missing('operator')
      requireLiveSignIn(person)
      return await answerConfirmed(frame, row, person)
    }
    const place = await placeCall(person)
    frame = { ...frame, place }
    if (place.place.account.mode === 'live') requireLiveSignIn(person)
    for (const needed of 'alsoNeeds' in row && row.alsoNeeds ? [row.access, row.alsoNeeds] : [row.access])
      if (!place.may(needed)) throw missing(needed)
    if ('testOnly' in row && row.testOnly) requireTestAccount(place.place.account)
    return await answerConfirmed(frame, row, place)
  } catch (error) {
    return sendTrouble(frame, error)
  }
}

const missing = (permission: Permission | 'operator') =>
  forbidden(
    'missing_permission',
    `this needs the permission ${permission}, which your role does not have; an owner or admin of the team can change that`,
  )

/** What gets at real coins: live accounts, and all of the operator's. @throws {Refusal} `second_factor_required`; `plain_http`. */
function requireLiveSignIn({ session, gateway }: PersonCall): void {
  if (session.factor === 'password')
    throw forbidden(
      'second_factor_required',
      'nothing live opens without a second factor; add a passkey or an authenticator app on the page of your own sign-in',
    )
  if (!isSafeTransport(gateway))
    throw forbidden(
      'plain_http',
      'live accounts and what the operator runs are shown over https alone; set BECK_PUBLIC_URL or BECK_DASHBOARD_URL to an https address',
    )
}

/** The account that the path names, if it is one of his. Others learn nothing, not even that it is there. */
async function placeCall(call: PersonCall): Promise<PlaceCall> {
  const id = readId('acct', call.params.account ?? '')
  const membership = call.session.memberships.find(
    ({ liveAccountId, testAccountId }) => id !== null && (liveAccountId === id || testAccountId === id),
  )
  const account = id && membership ? await findAccount(call.gateway.db, id) : null
  if (!account || !membership) throw unknownPage()
  const place: Place = {
    account,
    membership,
    sibling: account.mode === 'live' ? membership.testAccountId : membership.liveAccountId,
  }
  return {
    ...call,
    place,
    here: `${call.base}/${call.params.account}`,
    may: (permission) => may(membership.role, permission),
  }
}

/** Of a path that no row has: with the menu of the merchant that it names. */
export async function sendUnknown(call: Call): Promise<FastifyReply> {
  const session = await readSession(call)
  if (!session) return sendToSignIn(call)
  const person = personCall(call, session)
  const [account = ''] = (call.params['*'] ?? '').split('/')
  const place = placeCall({ ...person, params: { account } }).catch((error: unknown) => {
    if (error instanceof Refusal) return null
    throw error
  })
  return sendTrouble({ call, person, place: await place }, unknownPage())
}

/** Of what is not there, and of what is not for him. */
const unknownPage = () => notFound('page_not_found', 'there is no such page, or it is not yours')

const personCall = (call: Call, session: Session): PersonCall => ({
  ...call,
  session,
  person: {
    userId: session.userId,
    email: session.email,
    name: session.name,
    sessionId: session.id,
    address: call.request.ip,
  },
})

/** Where he signs in, and comes back from to what he asked for. */
const signInPath = (call: Call): string => {
  const wanted = call.request.method === 'GET' ? call.request.url.slice(rootOf(call.gateway).length) : ''
  return `${call.base}/sign-in${wanted && wanted !== '/dashboard' ? `?next=${encodeURIComponent(wanted)}` : ''}`
}

export const sendToSignIn = (call: Call): FastifyReply =>
  call.reply.code(303).header('Location', signInPath(call)).send()
