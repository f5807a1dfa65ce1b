/** `/pay/{plink_…}`: every visit by a browser counts one use and starts a session. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { findPaymentLink, type PaymentLink } from '../../checkout/payment-links.sql.ts'
import { Refusal } from '../../core/errors.ts'
import { readId } from '../../core/ids.ts'
import { openPaymentLink } from '../../flows/checkout.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { showFiat } from './language.ts'
import type { Limits } from './limits.ts'
import { drawPreview } from './pages/draw.ts'
import {
  checkoutPath,
  frameOf,
  goTo,
  LINK_DISABLED,
  languageOf,
  queryOf,
  sendNotice,
  sendPage,
  UNKNOWN,
} from './respond.ts'

/** Programs that fetch a link to show or index it, by the names they give themselves. */
const PREVIEWS =
  /bot\b|crawl|spider|slurp|preview|facebookexternalhit|facebookcatalog|whatsapp|telegram|slack-|discord|embedly|skypeuripreview|outlook|vkshare|pinterest|redditbot|iframely|validator|lighthouse|headlesspreview|monitor/i

export function registerPayLinks(scope: FastifyInstance, gateway: Gateway, limits: Limits): void {
  scope.route({
    method: ['GET', 'HEAD'],
    url: '/pay/:id',
    handler: async (request: FastifyRequest<{ Params: { id: string } }>, reply): Promise<FastifyReply> => {
      const id = readId('plink', request.params.id)
      const link = id && (await findPaymentLink(gateway.db, id))
      if (!link) {
        return sendNotice(reply, 404, frameOf(gateway, request, { account: null, sessionId: null }), UNKNOWN)
      }
      const account = await findAccount(gateway.db, link.accountId)
      const frame = frameOf(gateway, request, { account, sessionId: null })
      if (!link.isActive) return sendNotice(reply, 410, frame, LINK_DISABLED)
      // A browser that asked ahead asks again when its user really comes.
      if (isAhead(request)) return reply.code(503).header('Cache-Control', 'no-store').send()
      if (request.method === 'HEAD' || PREVIEWS.test(request.headers['user-agent'] ?? '')) {
        return sendPage(reply, 200, frame, drawPreview(frame, orderOf(request, link)))
      }
      await limits.countLinkVisit(request.ip)
      try {
        const session = await gateway.db.transaction((tx) => openPaymentLink(tx, link.id))
        return goTo(reply, checkoutPath(gateway, session.id) + queryOf(request, languageOf(request)))
      } catch (error) {
        if (error instanceof Refusal && error.reason === 'payment_link_disabled')
          return sendNotice(reply, 410, frame, LINK_DISABLED)
        throw error
      }
    },
  })
}

const isAhead = ({ headers }: FastifyRequest): boolean =>
  [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].some((value) =>
    /prefetch|prerender|preview/i.test(String(value ?? '')),
  )

const orderOf = (request: FastifyRequest, link: PaymentLink) => ({
  label: link.label,
  price: showFiat(languageOf(request), link.amountMinor, link.currency),
})
