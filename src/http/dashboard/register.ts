/** The dashboard: every row of its table becomes a route behind one guard, with its own errors, headers and limits. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Gateway } from '../../flows/gateway.ts'
import { newNonce } from '../hosted/headers.ts'
import { admit, personCall, signInPath, unknownPage } from './admit.ts'
import { sendTrouble } from './answer.ts'
import { EMPTY_FORM, readDashboardForm, readFileForm } from './form.ts'
import { protectDashboard, requireOwnForm } from './headers.ts'
import { rootOf } from './root.ts'
import type { Call, Installation } from './row.ts'
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
    scope.addContentTypeParser(
      'multipart/form-data',
      { parseAs: 'buffer', bodyLimit: FORM_BYTES_MAX },
      (request: FastifyRequest, bytes: Buffer) => readFileForm(request.headers['content-type'] ?? '', bytes),
    )
    scope.addHook('onRequest', async (request, reply) => {
      protectDashboard(reply, null)
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
        ...(row.formBytesMax ? { bodyLimit: row.formBytesMax } : {}),
        ...(row.isStream ? { exposeHeadRoute: false } : {}),
        handler: (request, reply) => admit(row, callOf(gateway, installation, base, request, reply)),
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
