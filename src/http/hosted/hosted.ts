/** The hosted pages: their own errors, headers and limits, apart from the API's. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Gateway } from '../../flows/gateway.ts'
import { answerTo } from '../errors.ts'
import { registerCheckoutPages } from './checkout-page.ts'
import { readForm } from './forms.ts'
import { type HostedLimits, openLimits } from './limits.ts'
import { registerLiveChannel } from './live-channel.ts'
import type { HostedOptions } from './networks.ts'
import { registerPayLinks } from './pay-link.ts'
import { frameOf, REFUSED, sendNotice, TOO_MANY, UNAVAILABLE, UNKNOWN } from './respond.ts'
import { registerLogos, registerWebFiles } from './serve-web-files.ts'

export interface HostedPagesOptions extends HostedOptions {
  readonly limits?: Partial<HostedLimits>
}

const FORM_BYTES_MAX = 8 * 1024

export function registerHostedPages(
  app: FastifyInstance,
  gateway: Gateway,
  options: HostedPagesOptions = {},
): void {
  registerWebFiles(app)
  app.register(async (scope) => {
    const limits = openLimits(options.limits)
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'buffer', bodyLimit: FORM_BYTES_MAX },
      async (_request: FastifyRequest, bytes: Buffer) => readForm(bytes),
    )
    scope.addHook('onRequest', (request) => limits.countPage(request.ip))
    scope.setErrorHandler((error: FastifyError, request, reply) =>
      sendTrouble(gateway, error, request, reply),
    )
    registerCheckoutPages(scope, gateway, options, limits)
    registerLiveChannel(scope, gateway, limits)
    registerPayLinks(scope, gateway, limits)
    registerLogos(scope, gateway)
  })
}

/** Buyers are told what they can do; the operator finds the cause in the log. */
function sendTrouble(
  gateway: Gateway,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const answer = answerTo(error)
  if (answer.logged) {
    const line = {
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url,
      err: error,
    }
    if (answer.status === 500) gateway.log.error(line, 'a hosted page failed')
    else gateway.log.warn(line, 'a hosted page could not be shown')
  }
  if (answer.retryAfterSeconds !== undefined) reply.header('Retry-After', answer.retryAfterSeconds)
  const { status } = answer
  const notice = status === 404 ? UNKNOWN : status === 429 ? TOO_MANY : status >= 500 ? UNAVAILABLE : REFUSED
  return sendNotice(reply, status, frameOf(gateway, request, { account: null, sessionId: null }), notice)
}
