/** The dashboard: every row of its table becomes a route behind one guard, with its own errors, headers and limits. */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { Refusal } from '../../core/errors.ts'
import { readId } from '../../core/ids.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { proveAgain } from '../../flows/people/sign-in.ts'
import { requireTestAccount } from '../../flows/sandbox.ts'
import { may, type Permission } from '../../users/permissions.ts'
import type { Session } from '../../users/sessions.sql.ts'
import { answerTo } from '../errors.ts'
import { newNonce } from '../hosted/headers.ts'
import { html } from '../hosted/html.ts'
import { CONFIRMATION_FIELDS, confirmPage } from './confirm.ts'
import { isSafeTransport, writeCookie } from './cookie.ts'
import { EMPTY_FORM, readDashboardForm } from './form.ts'
import { protectDashboard, requireOwnForm } from './headers.ts'
import { type Frame, layout } from './layout.ts'
import { sentence } from './parts.ts'
import { rootOf } from './root.ts'
import {
  type Call,
  type DashboardRow,
  type Installation,
  type Move,
  type PersonCall,
  type Place,
  type PlaceCall,
  SENT,
  type Sheet,
  type Shown,
} from './row.ts'
import { dashboardRows } from './rows.ts'
import { readSession } from './session.ts'

const FORM_BYTES_MAX = 128 * 1024

export function registerDashboard(app: FastifyInstance, gateway: Gateway, installation: Installation): void {
  const base = `${rootOf(gateway)}/dashboard`
  // Whoever types the address into a browser wants to see something.
  app.get('/', (request, reply) =>
    /\btext\/html\b/.test(request.headers.accept ?? '')
      ? reply.code(303).header('Location', `${gateway.settings.dashboardUrl}/dashboard`).send()
      : reply.callNotFound(),
  )
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'buffer', bodyLimit: FORM_BYTES_MAX },
      async (_request: FastifyRequest, bytes: Buffer) => readDashboardForm(bytes),
    )
    scope.addHook('onRequest', async (request, reply) => {
      protectDashboard(reply, '')
      if (request.method !== 'GET' && request.method !== 'HEAD')
        requireOwnForm(request, gateway.settings.dashboardUrl)
    })
    scope.setErrorHandler((error, request, reply) =>
      sendTrouble(
        { call: callOf(gateway, installation, base, request, reply), person: null, place: null },
        error,
      ),
    )
    for (const row of dashboardRows) {
      scope.route({
        method: row.method,
        url: `/dashboard${row.path}`,
        handler: (request, reply) => handle(row, callOf(gateway, installation, base, request, reply)),
      })
    }
    scope.get('/dashboard/*', async (request, reply) => {
      const call = callOf(gateway, installation, base, request, reply)
      const session = await readSession(call)
      if (!session) return reply.code(303).header('Location', signInPath(call)).send()
      return sendTrouble({ call, person: personCall(call, session), place: null }, unknownPage())
    })
  })
}

const unknownPage = () =>
  new Refusal('not_found', 'page_not_found', 'there is no such page, or it is not yours')

function callOf(
  gateway: Gateway,
  installation: Installation,
  base: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Call {
  const query = Object.entries(request.query ?? {}).flatMap(([name, value]) =>
    typeof value === 'string'
      ? [
          [
            name,
            value
              .replace(/\p{Cc}/gu, ' ')
              .toWellFormed()
              .trim(),
          ],
        ]
      : [],
  )
  const form =
    request.body && typeof request.body === 'object' && 'entries' in request.body ? request.body : EMPTY_FORM
  return {
    gateway,
    installation,
    request,
    reply,
    params: request.params as Record<string, string>,
    query: Object.fromEntries(query),
    form: form as Call['form'],
    problem: null,
    base,
    nonce: newNonce(),
  }
}

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

const signInPath = (call: Call): string => {
  const wanted = call.request.method === 'GET' ? call.request.url.slice(rootOf(call.gateway).length) : ''
  return `${call.base}/sign-in${wanted && wanted !== '/dashboard' ? `?next=${encodeURIComponent(wanted)}` : ''}`
}

async function handle(row: DashboardRow, call: Call): Promise<FastifyReply> {
  let frame: Frame = { call, person: null, place: null }
  try {
    if (row.access === 'public') {
      const session = await readSession(call)
      if (session && session.factor !== 'half') frame = { ...frame, person: personCall(call, session) }
      return await answer(frame, row, call)
    }
    const session = await readSession(call)
    if (!session) return await call.reply.code(303).header('Location', signInPath(call)).send()
    const person = personCall(call, session)
    if (session.factor === 'half') {
      if (row.access === 'half') return await answer({ ...frame, person }, row, person)
      return await call.reply.code(303).header('Location', `${call.base}/sign-in/factor`).send()
    }
    frame = { ...frame, person }
    if (row.access === 'half' || row.access === 'person') return await guarded(frame, row, person)
    if (row.access === 'operator') {
      if (!session.isOperator) throw missing('operator')
      requireSecondFactor(session)
      return await guarded(frame, row, person)
    }
    const place = await placeCall(person)
    frame = { ...frame, place }
    if (place.place.account.mode === 'live') {
      requireSecondFactor(session)
      if (!isSafeTransport(call.gateway)) throw unsafeTransport()
    }
    for (const needed of 'alsoNeeds' in row && row.alsoNeeds ? [row.access, row.alsoNeeds] : [row.access])
      if (!place.may(needed)) throw missing(needed)
    if ('testOnly' in row && row.testOnly) requireTestAccount(place.place.account)
    return await guarded(frame, row, place)
  } catch (error) {
    return sendTrouble(frame, error)
  }
}

const missing = (permission: Permission | 'operator') =>
  new Refusal(
    'forbidden',
    'missing_permission',
    `this needs the permission ${permission}, which your role does not have; an owner or admin of the team can change that`,
  )

const unsafeTransport = () =>
  new Refusal(
    'forbidden',
    'plain_http',
    'live accounts are shown over https alone; set BECK_PUBLIC_URL or BECK_DASHBOARD_URL to an https address',
  )

/** @throws {Refusal} `second_factor_required`. */
function requireSecondFactor(session: Session): void {
  if (session.factor === 'password')
    throw new Refusal(
      'forbidden',
      'second_factor_required',
      'nothing live opens without a second factor; add a passkey or an authenticator app on the page of your own sign-in',
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

/** Asks for a confirmation where the row wants one and the form brings none. */
async function guarded<C extends PersonCall>(
  frame: Frame,
  row: DashboardRow,
  call: C,
): Promise<FastifyReply> {
  const { session } = call
  if (!row.confirm || (row.confirm === 'recent' && session.isSteppedUp)) return answer(frame, row, call)
  // A page that has to be confirmed is asked for again afterwards; a form is carried along.
  if (row.method === 'GET') {
    const next = call.request.url.slice(rootOf(call.gateway).length)
    return call.reply
      .code(303)
      .header('Location', `${call.base}/step-up?next=${encodeURIComponent(next)}`)
      .send()
  }
  const ask = async (problem: Refusal | null) => {
    const consequence = await (row as { consequence?(call: C): Promise<unknown> }).consequence?.(call)
    const sheet = await confirmPage(call, consequence as never, problem)
    return sendSheet(frame, sheet, problem ? 403 : 200)
  }
  const isProven = CONFIRMATION_FIELDS.some((name) => name !== 'challenge' && call.form.get(name) !== '')
  try {
    if (!isProven) return await ask(null)
  } catch (error) {
    return redraw(frame, row, call, error)
  }
  try {
    const { token, factor } = await proveAgain(
      call.gateway,
      session,
      {
        challenge: call.form.get('challenge'),
        code: call.form.get('code'),
        assertion: call.form.get('assertion'),
      },
      { address: call.request.ip, agent: call.request.headers['user-agent'] ?? '' },
    )
    writeCookie(call.gateway, call.reply, token)
    const proven = { ...call, session: { ...session, factor, isSteppedUp: true } }
    return await answer(frame, row, proven)
  } catch (error) {
    if (
      error instanceof Refusal &&
      ['unauthenticated', 'conflict', 'forbidden'].includes(error.kind) &&
      PROOF_REASONS.includes(error.reason)
    )
      return ask(error)
    throw error
  }
}

const PROOF_REASONS = ['wrong_code', 'passkey_refused', 'challenge_over', 'too_many_attempts']

async function answer<C extends Call>(frame: Frame, row: DashboardRow, call: C): Promise<FastifyReply> {
  const act = row.handle as (call: C) => Promise<Sheet | Shown | Move | typeof SENT>
  let outcome: Sheet | Shown | Move | typeof SENT
  try {
    outcome = await act(call)
  } catch (error) {
    return redraw(frame, row, call, error)
  }
  if (outcome === SENT) return call.reply
  if ('token' in outcome && outcome.token !== undefined) writeCookie(call.gateway, call.reply, outcome.token)
  if ('to' in outcome) {
    const to = outcome.done
      ? `${outcome.to}${outcome.to.includes('?') ? '&' : '?'}done=${outcome.done}`
      : outcome.to
    return call.reply.code(303).header('Location', to).send()
  }
  return sendSheet(frame, outcome, 200)
}

/** A form that was refused is shown again, filled in, with what is wrong beside it. */
async function redraw<C extends Call>(
  frame: Frame,
  row: DashboardRow,
  call: C,
  error: unknown,
): Promise<FastifyReply> {
  const again = row.redraw as ((call: C) => Promise<Sheet>) | undefined
  if (
    !again ||
    !(error instanceof Refusal) ||
    error.kind === 'not_found' ||
    error.reason === 'missing_permission'
  )
    throw error
  return sendSheet(frame, await again({ ...call, problem: error }), answerTo(error).status)
}

function sendSheet(frame: Frame, sheet: Sheet, status: number): FastifyReply {
  const { reply, nonce } = frame.call
  // What a page that looks again compares: all but the nonce, and the message that a redirect brought.
  const version = sheet.isLive ? versionOf(sheet) : null
  if (version) reply.header('X-Version', version)
  return protectDashboard(reply, nonce)
    .code(status)
    .type('text/html; charset=utf-8')
    .send(layout(frame, sheet, version).markup)
}

const versionOf = ({ content }: Sheet): string =>
  createHash('sha256').update(html`${content}`.markup).digest('base64url').slice(0, 16)

/** People are told what they can do; the operator finds the cause in the log. */
function sendTrouble(frame: Frame, error: unknown): FastifyReply {
  const { call } = frame
  const told = answerTo(error)
  if (told.logged) {
    const line = {
      request_id: call.request.id,
      method: call.request.method,
      route: call.request.routeOptions.url,
      err: error,
    }
    if (told.status === 500) call.gateway.log.error(line, 'a page of the dashboard failed')
    else call.gateway.log.warn(line, 'a page of the dashboard could not be shown')
  }
  if (told.retryAfterSeconds !== undefined) call.reply.header('Retry-After', told.retryAfterSeconds)
  const title =
    told.status === 404
      ? 'Not found'
      : told.status === 403
        ? 'Not permitted'
        : told.status >= 500
          ? 'Not now'
          : 'Not done'
  const back =
    told.reason === 'second_factor_required'
      ? html`<a class="button primary" href="${call.base}/me">Add a second factor</a>`
      : html`<a class="button plain" href="${call.base}">Back to the overview</a>`
  return sendSheet(
    frame,
    {
      title,
      width: 'narrow',
      content: html`<h1>${title}</h1><p class="lead" data-reason="${told.reason}">${sentence(told.message)}</p><p>${back}</p>${told.status >= 500 && html`<p class="hint">If you ask for help, name the request <code>${call.request.id}</code>.</p>`}`,
    },
    told.status,
  )
}
