/** The hosted pages: their own errors, headers and limits, apart from the API's. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readId } from '../../core/ids.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { answerTo } from '../errors.ts'
import { registerCheckoutPages } from './checkout-page.ts'
import { EMPTY_FORM, readForm } from './forms.ts'
import { protectAnswer } from './headers.ts'
import { type HostedLimits, openLimits } from './limits.ts'
import { registerLiveChannel } from './live-channel.ts'
import type { HostedOptions } from './networks.ts'
import { registerPayLinks } from './pay-link.ts'
import { pointPath, registerPointsOfSale } from './point-of-sale.ts'
import { checkoutPath, frameOf, languageOf, payLinkPath, queryOf, sendNotice } from './respond.ts'
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
    scope.addHook('onRequest', (request, reply) => {
      protectAnswer(reply)
      return limits.countPage(request.ip)
    })
    // A form without a body is a form without fields.
    scope.addHook('preHandler', async (request) => {
      request.body ??= EMPTY_FORM
    })
    scope.setErrorHandler((error: FastifyError, request, reply) =>
      sendTrouble(gateway, error, request, reply),
    )
    registerCheckoutPages(scope, gateway, options, limits)
    registerLiveChannel(scope, gateway, limits)
    registerPayLinks(scope, gateway, limits)
    registerPointsOfSale(scope, gateway, options, limits)
    registerLogos(scope, gateway)
    // Links that were cut or grew on the way: people see a page, not what programs get.
    for (const path of ['/checkout/*', '/pay/*', '/pos/*']) {
      scope.get(path, (request, reply) => sendNotice(reply, 404, frameOf(gateway, request), 'unknown'))
    }
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
  request.refusal = answer.reason
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
  const about =
    status === 404 ? 'unknown' : status === 429 ? 'too_many' : status >= 500 ? 'unavailable' : 'refused'
  const text = about === 'refused' ? ('back_to_checkout' as const) : ('try_again' as const)
  const path = wayBack(gateway, request)
  const link = path === null ? null : { text, path }
  return sendNotice(reply, status, frameOf(gateway, request), about, { link })
}

/** To where the buyer was: the checkout, or the link that leads to one. */
function wayBack(gateway: Gateway, request: FastifyRequest): string | null {
  const { id } = request.params as { id?: string }
  const query = queryOf(request, languageOf(request))
  const session = id && readId('cs', id)
  if (session) return checkoutPath(gateway, session) + query
  const point = id && readId('pos', id)
  if (point) return pointPath(gateway, point) + query
  const link = id && readId('plink', id)
  return link ? payLinkPath(gateway, link) + query : null
}
