/** Puts a page together for the buyer who asks: language, merchant, headers. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../accounts/account.ts'
import { isOrigin } from '../../accounts/brand.ts'
import { type PaymentLinkId, type SessionId, showId } from '../../core/ids.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { accentOf } from './colour.ts'
import { queryValue } from './forms.ts'
import { newNonce, protect } from './headers.ts'
import type { Html } from './html.ts'
import { type Language, pickLanguage } from './language.ts'
import { drawNotice } from './pages/draw.ts'
import { logoPath } from './serve-web-files.ts'
import type { Frame, NoticeView } from './view.ts'

export const languageOf = (request: FastifyRequest): Language =>
  pickLanguage(queryValue(request, 'lang'), request.headers['accept-language'])

/** Before every path of ours: the public URL's own path. */
export const baseOf = (gateway: Pick<Gateway, 'settings'>): string =>
  new URL(gateway.settings.publicUrl).pathname.replace(/\/$/, '')

export const queryOf = (request: FastifyRequest, language: Language): string =>
  queryValue(request, 'lang') === '' ? '' : `?lang=${language.tag}`

export const checkoutPath = (gateway: Pick<Gateway, 'settings'>, id: SessionId): string =>
  `${baseOf(gateway)}/checkout/${showId('cs', id)}`

export const payLinkPath = (gateway: Pick<Gateway, 'settings'>, id: PaymentLinkId): string =>
  `${baseOf(gateway)}/pay/${showId('plink', id)}`

export function frameOf(
  gateway: Pick<Gateway, 'settings'>,
  request: FastifyRequest,
  given: {
    readonly account: Account | null
    readonly sessionId: SessionId | null
    readonly page?: string
    readonly carried?: Readonly<Record<string, string>>
  },
): Frame {
  const language = languageOf(request)
  const base = baseOf(gateway)
  const path = given.sessionId && checkoutPath(gateway, given.sessionId)
  return {
    language,
    merchant: given.account && {
      name: given.account.brandName ?? given.account.name,
      logo: given.account.brandLogo && base + logoPath(given.account.brandLogo),
      accent: accentOf(given.account.brandColor),
      // Whatever is no origin could be another directive of the policy.
      frameOrigins: given.account.frameOrigins.filter(isOrigin),
    },
    isTest: given.account?.mode === 'test',
    base,
    path,
    query: queryOf(request, language),
    here: `${path ?? ''}${given.page ?? ''}`,
    carried: Object.entries(given.carried ?? {})
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}&`)
      .join(''),
    nonce: newNonce(),
  }
}

export function sendPage(reply: FastifyReply, status: number, frame: Frame, page: Html): FastifyReply {
  return protect(reply, frame.nonce, frame.merchant?.frameOrigins ?? [])
    .code(status)
    .type('text/html; charset=utf-8')
    .header('Vary', 'Accept-Language')
    .send(page.markup)
}

export const sendNotice = (
  reply: FastifyReply,
  status: number,
  frame: Frame,
  notice: NoticeView,
): FastifyReply => sendPage(reply, status, frame, drawNotice(frame, notice))

/** After a form: the browser asks for the page anew, so that going back or reloading sends nothing twice. */
export const goTo = (reply: FastifyReply, path: string): FastifyReply =>
  reply.code(303).header('Location', path).send()

export const UNKNOWN: NoticeView = {
  title: 'unknown_title',
  lead: 'unknown_lead',
  refreshes: false,
  link: null,
}
export const LINK_DISABLED: NoticeView = {
  title: 'link_disabled_title',
  lead: 'link_disabled_lead',
  refreshes: false,
  link: null,
}
export const UNAVAILABLE: NoticeView = {
  title: 'unavailable_title',
  lead: 'unavailable_lead',
  refreshes: true,
  link: null,
}
export const TOO_MANY: NoticeView = {
  title: 'too_many_title',
  lead: 'too_many_lead',
  refreshes: true,
  link: null,
}
export const REFUSED: NoticeView = {
  title: 'refused_title',
  lead: 'refused_lead',
  refreshes: false,
  link: null,
}
