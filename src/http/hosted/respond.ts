/** Puts a page together for the buyer who asks: language, merchant, headers. */
import { gzipSync } from 'node:zlib'
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
import type { Frame, Merchant, NoticeView } from './view.ts'

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
  {
    account = null,
    sessionId = null,
    page = '',
    carried = {},
  }: {
    readonly account?: Account | null
    readonly sessionId?: SessionId | null
    readonly page?: string
    readonly carried?: Readonly<Record<string, string>>
  } = {},
): Frame {
  const language = languageOf(request)
  const base = baseOf(gateway)
  const path = sessionId && checkoutPath(gateway, sessionId)
  return {
    language,
    merchant: account && {
      name: account.brandName ?? account.name,
      logo: account.brandLogo && base + logoPath(account.brandLogo),
      accent: accentOf(account.brandColor),
      links: linksOf(account),
      // Whatever is no origin could be another directive of the policy.
      frameOrigins: account.frameOrigins.filter(isOrigin),
    },
    isTest: account?.mode === 'test',
    isPart: request.headers['sec-fetch-dest'] === 'empty',
    origin: new URL(gateway.settings.publicUrl).origin,
    base,
    path,
    query: queryOf(request, language),
    here: (path ?? '') + page,
    carried: Object.entries(carried)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}&`)
      .join(''),
    nonce: newNonce(),
  }
}

/** Looked at again before they become links, as redirects are. */
function linksOf({ contact, termsUrl, privacyUrl }: Account): Merchant['links'] {
  const ask = contact !== null && !/^https?:/i.test(contact) ? `mailto:${contact}` : contact
  const given = [
    { text: 'contact', url: ask },
    { text: 'terms', url: termsUrl },
    { text: 'privacy', url: privacyUrl },
  ] as const
  return given.flatMap(({ text, url }) =>
    url !== null && ['https:', 'http:', 'mailto:'].includes(URL.parse(url)?.protocol ?? '')
      ? [{ text, url }]
      : [],
  )
}

export function sendPage(
  reply: FastifyReply,
  status: number,
  frame: Frame,
  page: Html,
  frameOrigins = frame.merchant?.frameOrigins ?? [],
): FastifyReply {
  const answer = protect(reply, frame.nonce, frameOrigins)
    .code(status)
    .type('text/html; charset=utf-8')
    .header('Vary', 'Accept-Language, Accept-Encoding, Sec-Fetch-Dest')
  if (!/\bgzip\b/.test(String(reply.request.headers['accept-encoding'] ?? '')))
    return answer.send(page.markup)
  // A page of 20 kB takes a quarter of a millisecond at this level, and is a fifth.
  return answer.header('Content-Encoding', 'gzip').send(gzipSync(page.markup, { level: 4 }))
}

export const sendNotice = (
  reply: FastifyReply,
  status: number,
  frame: Frame,
  about: NoticeView['about'],
  more: Pick<NoticeView, 'earlier' | 'link'> = {},
): FastifyReply => sendPage(reply, status, frame, drawNotice(frame, { about, ...more }))

/** After a form: the browser asks for the page anew, so that going back or reloading sends nothing twice. */
export const goTo = (reply: FastifyReply, path: string): FastifyReply =>
  reply.code(303).header('Location', path).send()

/**
 * Whether another site shows this page in a frame of its own, which the account does not let it. Its policy keeps browsers
 * from drawing it; this only finds something kinder to say, so it may believe what browsers tell.
 */
export function isForeignFrame(
  gateway: Pick<Gateway, 'settings'>,
  { headers }: FastifyRequest,
  account: Account | null,
): boolean {
  const { 'sec-fetch-dest': place, 'sec-fetch-site': site, referer } = headers
  if (place !== 'iframe' && place !== 'frame') return false
  if (site === 'same-origin' || site === 'none') return false
  const around = URL.parse(referer ?? '')?.origin
  const allowed = account?.frameOrigins ?? []
  return around === undefined
    ? allowed.length === 0
    : around !== new URL(gateway.settings.publicUrl).origin && !allowed.includes(around)
}

/** Nothing of the checkout, just a way to it: any site may show that. */
export function sendForeignFrame(
  gateway: Pick<Gateway, 'settings'>,
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
): FastifyReply {
  const frame = frameOf(gateway, request)
  const link = { text: 'new_window' as const, path: path + frame.query, isNewWindow: true }
  const page = drawNotice(frame, { about: 'framed', link })
  return sendPage(reply, 403, frame, page, ['*'])
}
