/** The dashboard: every row of its table becomes a route behind one guard, with its own errors, headers and limits. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { unavailable } from '../../core/errors.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { newNonce } from '../hosted/headers.ts'
import { openWorkLimit } from '../work-limit.ts'
import { admit, sendToSignIn, sendUnknown } from './admit.ts'
import { sendTrouble } from './answer.ts'
import { EMPTY_FORM, readDashboardForm, readFileForm } from './form.ts'
import { protectDashboard, requireOwnForm } from './headers.ts'
import { rootOf } from './root.ts'
import type { Call, Installation } from './row.ts'
import { dashboardRows } from './rows.ts'
import { readSession } from './session.ts'

const FORM_BYTES_MAX = 128 * 1024
/** Of those who did not sign in: a passkey's answer is the largest there is. */
const STRANGER_FORM_BYTES_MAX = 16 * 1024
/** A form of somebody who did not sign in costs some statements and a page: one of each row at a time. */
const STRANGERS = { running: 1, reading: 1, gathered: 1, waiting: 1_000 }
const tooBusy = () => unavailable('too_busy', 'too many people ask for this now; try again in a moment')

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
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, bytes: Buffer) => readDashboardForm(bytes),
    )
    scope.addContentTypeParser(
      'multipart/form-data',
      { parseAs: 'buffer' },
      (request: FastifyRequest, bytes: Buffer) => readFileForm(request.headers['content-type'] ?? '', bytes),
    )
    scope.addHook('onRequest', async (request, reply) => {
      protectDashboard(reply, null)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        requireOwnForm(request, gateway.settings.dashboardUrl)
    })
    const callOf = (request: FastifyRequest, reply: FastifyReply) =>
      makeCall({ gateway, installation, base, request, reply })
    scope.setErrorHandler((error, request, reply) =>
      sendTrouble({ call: callOf(request, reply), person: null, place: null }, error),
    )
    const strangers = openWorkLimit(STRANGERS, tooBusy)
    for (const row of dashboardRows) {
      const answer = (request: FastifyRequest, reply: FastifyReply) => admit(row, callOf(request, reply))
      scope.route({
        method: row.method,
        url: `/dashboard${row.path}`,
        bodyLimit: row.access === 'public' ? STRANGER_FORM_BYTES_MAX : (row.formBytesMax ?? FORM_BYTES_MAX),
        // Nobody's form is not even read: the answer is the same.
        ...(row.method === 'POST' &&
          row.access !== 'public' && {
            onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
              const call = callOf(request, reply)
              if (!(await readSession(call))) return sendToSignIn(call)
            },
          }),
        ...(row.isStream ? { exposeHeadRoute: false } : {}),
        // By the row: who guesses passwords does not stand before those who have a passkey.
        handler:
          row.method === 'POST' && row.access === 'public'
            ? (request, reply) => strangers.run(row.path, 'write', () => answer(request, reply))
            : answer,
      })
    }
    scope.get('/dashboard/*', (request, reply) => sendUnknown(callOf(request, reply)))
  })
}

function makeCall(of: Pick<Call, 'gateway' | 'installation' | 'base' | 'request' | 'reply'>): Call {
  const { request } = of
  // Boxes of one name that are ticked together are one value.
  const query = Object.entries(request.query ?? {}).map(([name, value]): [string, string] => [
    name,
    [value]
      .flat()
      .join(',')
      .replace(/\p{Cc}/gu, ' ')
      .toWellFormed()
      .trim(),
  ])
  const form =
    request.body && typeof request.body === 'object' && 'entries' in request.body ? request.body : EMPTY_FORM
  return {
    ...of,
    params: request.params as Record<string, string>,
    query: Object.fromEntries(query),
    form: form as Call['form'],
    problem: null,
    nonce: newNonce(),
  }
}
