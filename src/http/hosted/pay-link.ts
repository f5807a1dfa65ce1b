/**
 * `/pay/{plink_…}`: every visit by a browser counts one use and starts a session, or leads back to the one that the same
 * browser began within the day and has not finished.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { findLinkForVisitor, type PaymentLink } from '../../checkout/payment-links.sql.ts'
import { SESSION_WINDOW_MS } from '../../checkout/session.ts'
import { type PaymentLinkId, readId, type SessionId, showId } from '../../core/ids.ts'
import { openPaymentLink } from '../../flows/checkout/checkout.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { readCookie } from './cookies.ts'
import { requireOwnPage } from './forms.ts'
import { showFiat } from './language.ts'
import type { Limits } from './limits.ts'
import { drawPreview } from './pages/draw.ts'
import { meaningOf } from './pick-coin-form.ts'
import {
  checkoutPath,
  frameOf,
  goTo,
  isForeignFrame,
  languageOf,
  payLinkPath,
  queryOf,
  sendForeignFrame,
  sendNotice,
  sendPage,
} from './respond.ts'
import type { Frame } from './view.ts'

/**
 * Programs that fetch a link to show or index it, by the names they give themselves. Who is taken for one by mistake
 * gets a page with a button.
 */
const PROGRAMS =
  /bot\b|crawl|spider|slurp|preview|facebookexternalhit|facebookcatalog|^whatsapp|^signal|embedly|vkshare|iframely|lighthouse|^curl|^wget|^python|^go-http|^java\/|^okhttp|httpclient|libwww|safelinks|proofpoint|mimecast|barracuda/i

type Request = FastifyRequest<{ Params: { id: string } }>

export function registerPayLinks(scope: FastifyInstance, gateway: Gateway, limits: Limits): void {
  /** Answers for links that nobody can pay by. */
  const withLink =
    (
      answer: (
        request: Request,
        reply: FastifyReply,
        link: PaymentLink,
        frame: Frame,
      ) => Promise<FastifyReply>,
    ) =>
    async (request: Request, reply: FastifyReply): Promise<FastifyReply> => {
      const id = readId('plink', request.params.id)
      const link = id && (await findLinkForVisitor(gateway.db, id))
      const account = link && (await findAccount(gateway.db, link.accountId))
      const page = id ? payLinkPath(gateway, id) : ''
      const frame = frameOf(gateway, request, { account, page })
      if (!link) return sendNotice(reply, 404, frame, 'unknown')
      if (!link.isActive) return sendNotice(reply, 410, frame, 'link_disabled')
      if (account?.closedAt) return sendNotice(reply, 410, frame, 'closed')
      if (isForeignFrame(gateway, request, account)) return sendForeignFrame(gateway, request, reply, page)
      return answer(request, reply, link, frame)
    }

  const start = async (request: Request, reply: FastifyReply, link: PaymentLink, frame: Frame) => {
    await limits.countLinkVisit(request.ip, link.id)
    try {
      const earlier = readVisit(request)
      const session = await gateway.db.transaction((tx) => openPaymentLink(tx, link.id, earlier))
      rememberVisit(gateway, reply, link.id, session.id)
      return goTo(reply, checkoutPath(gateway, session.id) + queryOf(request, languageOf(request)))
    } catch (error) {
      const meaning = meaningOf(error)
      if (meaning !== 'link_disabled' && meaning !== 'closed') throw error
      return sendNotice(reply, 410, frame, meaning)
    }
  }

  scope.route({
    method: ['GET', 'HEAD'],
    url: '/pay/:id',
    handler: withLink(async (request, reply, link, frame) => {
      // A browser that asked ahead asks again when its user really comes.
      if (isAhead(request)) return reply.code(503).send()
      // Another page names the link as the source of a picture: its visitors never see it.
      if (isPartOfPage(request)) return reply.code(403).send()
      if (request.method !== 'HEAD' && !PROGRAMS.test(request.headers['user-agent'] ?? '')) {
        return start(request, reply, link, frame)
      }
      const price = showFiat(frame.language, link.amountMinor, link.currency)
      return sendPage(reply, 200, frame, drawPreview(frame, { label: link.label, price }))
    }),
  })

  scope.post(
    '/pay/:id',
    withLink(async (request, reply, link, frame) => {
      requireOwnPage(request, gateway.settings.publicUrl)
      return start(request, reply, link, frame)
    }),
  )
}

const VISIT = 'beck_visit'

/** The session that this browser began by this link; null for none, and for what is no session's id. */
const readVisit = (request: FastifyRequest): SessionId | null => readId('cs', readCookie(request, VISIT))

/** Sent to this link alone. It lets nobody in who has not been there before. */
function rememberVisit(
  gateway: Pick<Gateway, 'settings'>,
  reply: FastifyReply,
  link: PaymentLinkId,
  session: SessionId,
): void {
  const secure = gateway.settings.publicUrl.startsWith('https:') ? '; Secure' : ''
  const path = payLinkPath(gateway, link)
  reply.header(
    'Set-Cookie',
    `${VISIT}=${showId('cs', session)}; Path=${path}; Max-Age=${SESSION_WINDOW_MS / 1_000}; HttpOnly; SameSite=Lax${secure}`,
  )
}

const PAGES = ['document', 'iframe', 'frame', 'embed', 'object', 'empty']

const isPartOfPage = ({ headers: { 'sec-fetch-dest': destination } }: FastifyRequest): boolean =>
  destination !== undefined && !PAGES.includes(String(destination))

const isAhead = ({ headers }: FastifyRequest): boolean =>
  [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].some((value) =>
    /prefetch|prerender|preview/i.test(String(value ?? '')),
  )
