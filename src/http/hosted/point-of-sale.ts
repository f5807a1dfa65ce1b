/**
 * `/pos/{pos_…}`: a keypad behind a counter. Its link is all that lets anybody in, so it can do little: ask for a price in the
 * account's name, show the code to pay it, and say what became of what was asked for here.
 *
 * @see docs/decisions/0042-point-of-sale.md
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../accounts/account.ts'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { findPointForSeller, listSales, type PointOfSale } from '../../checkout/points-of-sale.sql.ts'
import { isAsset } from '../../core/assets.ts'
import { type PointOfSaleId, readId, type SessionId, showId } from '../../core/ids.ts'
import { pickCoin } from '../../flows/checkout/checkout.ts'
import { takesOtherCoin } from '../../flows/checkout/checkout-state.ts'
import { checkoutUrl } from '../../flows/checkout/page-urls.ts'
import { readCheckoutPage } from '../../flows/checkout/read-checkout-page.ts'
import { sellAt } from '../../flows/checkout/sell.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { simulatePayment } from './checkout-page.ts'
import { choose, FIRST_CHOICE, NOT_SEARCHED, readTypedPrice } from './checkout-visit.ts'
import { type Form, requireOwnPage } from './forms.ts'
import { HOME_ICON_PATH, HOME_ICON_SIZES } from './home-icon.ts'
import type { Html } from './html.ts'
import type { Language } from './language.ts'
import type { Limits } from './limits.ts'
import { contentOf, type Making, stateView } from './make-view.ts'
import type { HostedOptions } from './networks.ts'
import { drawKeypad, drawSale, drawSales } from './pages/point-of-sale.ts'
import { meaningOf } from './pick-coin-form.ts'
import { drawQr } from './qr.ts'
import { baseOf, frameOf, goTo, languageOf, queryOf, sendNotice, sendPage } from './respond.ts'
import type { Field, Frame } from './view.ts'

/** So many of the last sales are shown. */
const SALES_SHOWN = 20
const NOTE_LENGTH_MAX = 100

export const pointPath = (gateway: Pick<Gateway, 'settings'>, id: PointOfSaleId): string =>
  `${baseOf(gateway)}/pos/${showId('pos', id)}`

type Request = FastifyRequest<{ Params: { id: string; session: string } }>

interface Counter {
  readonly gateway: Gateway
  readonly options: HostedOptions
  readonly limits: Limits
  readonly request: Request
  readonly reply: FastifyReply
  readonly point: PointOfSale
  readonly account: Account
  readonly language: Language
  /** `/pos/pos_…`, with the base. */
  readonly path: string
}

export function registerPointsOfSale(
  scope: FastifyInstance,
  gateway: Gateway,
  options: HostedOptions,
  limits: Limits,
): void {
  /** Answers by itself for what is not there, or no more. */
  const behind =
    (answer: (at: Counter) => Promise<FastifyReply>) => async (request: Request, reply: FastifyReply) => {
      const id = readId('pos', request.params.id)
      const point = id && (await findPointForSeller(gateway.db, id))
      const account = point && (await findAccount(gateway.db, point.accountId))
      if (!point || !account) return sendNotice(reply, 404, frameOf(gateway, request), 'unknown')
      if (point.revokedAt)
        return sendNotice(reply, 410, frameOf(gateway, request, { account }), 'pos_revoked')
      if (request.method === 'POST') requireOwnPage(request, gateway.settings.publicUrl)
      const language = languageOf(request)
      const path = pointPath(gateway, point.id)
      return answer({ gateway, options, limits, request, reply, point, account, language, path })
    }

  /** Only what was sold here: a session of any other place is not there. */
  const selling = (answer: (at: Counter, id: SessionId, making: Making) => Promise<FastifyReply>) =>
    behind(async (at) => {
      const id = readId('cs', at.request.params.session)
      const page = id && (await readCheckoutPage(gateway, gateway.db, id))
      if (!id || page?.checkout.session.pointOfSaleId !== at.point.id)
        return sendNotice(at.reply, 404, frameAt(at, at.path), 'unknown')
      return answer(at, id, { options, language: at.language, page })
    })

  scope.get(
    '/pos/:id',
    behind(async (at) =>
      at.account.closedAt ? sendClosed(at) : showKeypad(at, { value: '', problem: null }, ''),
    ),
  )
  scope.post('/pos/:id', behind(sell))
  scope.get('/pos/:id/sales', behind(showSales))
  scope.get(
    '/pos/:id/sales/:session',
    selling((at, id, making) => showSale(at, id, making)),
  )
  scope.get(
    '/pos/:id/sales/:session/coins',
    selling((at, id, making) => showSale(at, id, making, { isChoosing: true })),
  )
  scope.post('/pos/:id/sales/:session/coin', selling(showCoin))
  scope.post(
    '/pos/:id/sales/:session/simulate',
    selling(async (at, id) => {
      await simulatePayment(gateway, id, at.request.body as Form)
      return goBack(at, salePath(id))
    }),
  )
  scope.get('/pos/:id/manifest.webmanifest', behind(sendManifest))
}

const salePath = (id: SessionId): string => `/sales/${showId('cs', id)}`

const frameAt = (at: Counter, here: string, sessionId: SessionId | null = null): Frame => ({
  ...frameOf(at.gateway, at.request, { account: at.account, sessionId }),
  here,
})

/** No site frames a page on which a shop asks for money. */
const send = (at: Counter, frame: Frame, page: Html, status = 200): FastifyReply =>
  sendPage(at.reply, status, frame, page, [])

const goBack = (at: Counter, path: string): FastifyReply =>
  goTo(at.reply, at.path + path + queryOf(at.request, at.language))

const sendClosed = (at: Counter): FastifyReply => sendNotice(at.reply, 410, frameAt(at, at.path), 'closed')

function showKeypad(at: Counter, amount: Field, note: string, status = 200): FastifyReply {
  const frame = frameAt(at, at.path)
  const { name, currency } = at.point
  return send(at, frame, drawKeypad(frame, { path: at.path, name, currency, amount, note }), status)
}

async function sell(at: Counter): Promise<FastifyReply> {
  const { gateway, request, point, language } = at
  await at.limits.countSale(request.ip, point.id)
  const form = request.body as Form
  const typed = form.get('amount') ?? ''
  const note = (form.get('note') ?? '').slice(0, NOTE_LENGTH_MAX).toWellFormed()
  const read = readTypedPrice(gateway.settings, language, point.currency, typed)
  if ('problem' in read) return showKeypad(at, { value: typed, problem: read.problem }, note, 400)
  const sale = { amountMinor: read.minor, label: note || null }
  try {
    const session = await gateway.db.transaction((tx) => sellAt(gateway, tx, point.id, sale))
    return goBack(at, salePath(session.id))
  } catch (error) {
    if (meaningOf(error) === 'closed') return sendClosed(at)
    throw error
  }
}

async function showSales(at: Counter): Promise<FastifyReply> {
  const frame = frameAt(at, `${at.path}/sales`)
  const sales = await listSales(at.gateway.db, at.point.id, SALES_SHOWN)
  return send(at, frame, drawSales(frame, { path: at.path, name: at.point.name, sales, now: new Date() }))
}

async function showSale(
  at: Counter,
  id: SessionId,
  making: Making,
  { isChoosing = false, problem = null as string | null, status = 200 } = {},
): Promise<FastifyReply> {
  const { gateway } = at
  const here = at.path + salePath(id)
  const { state } = making.page
  const isChoice = state === 'choose' || (isChoosing && takesOtherCoin(state))
  const frame = frameAt(at, here + (isChoice && state !== 'choose' ? '/coins' : ''), id)
  const view = isChoice
    ? await choose({ gateway, making }, { ...FIRST_CHOICE, problem })
    : stateView(making, NOT_SEARCHED)
  const checkout = drawQr(checkoutUrl(gateway, id), at.language.words.pos_scan)
  return send(at, frame, drawSale(frame, contentOf(making, view), { path: at.path, here, checkout }), status)
}

/** The coin whose code is shown on the counter's own screen. */
async function showCoin(at: Counter, id: SessionId, making: Making): Promise<FastifyReply> {
  const { gateway, request } = at
  const { words } = at.language
  const asset = (request.body as Form).get('asset') ?? ''
  if (!isAsset(asset))
    return showSale(at, id, making, { isChoosing: true, problem: words.error_coin_required, status: 400 })
  const { accountId } = making.page.checkout.session
  await at.limits.countPayment(request.ip, { id, accountId })
  try {
    await gateway.db.transaction((tx) => pickCoin(gateway, tx, id, { asset, amountMinor: null, email: null }))
    gateway.wake('deliver')
  } catch (error) {
    const meaning = meaningOf(error)
    if (meaning === null) throw error
    if (meaning === 'closed') return sendClosed(at)
    if (meaning !== 'page' && meaning !== 'link_disabled')
      return showSale(at, id, making, { isChoosing: true, problem: words[meaning], status: 503 })
  }
  return goBack(at, salePath(id))
}

/** What a phone needs to keep the page on its home screen. */
async function sendManifest({ gateway, ...at }: Counter): Promise<FastifyReply> {
  const icon = { src: baseOf(gateway) + HOME_ICON_PATH, sizes: HOME_ICON_SIZES, type: 'image/png' }
  return at.reply.type('application/manifest+json').send({
    id: at.path,
    name: `${at.point.name} – ${at.account.brandName ?? at.account.name}`,
    short_name: at.point.name,
    lang: at.language.tag,
    start_url: at.path + queryOf(at.request, at.language),
    scope: at.path,
    display: 'standalone',
    background_color: '#f3f4f7',
    theme_color: '#f3f4f7',
    // It reaches its edges, so that a phone may cut it to its own shape.
    icons: [
      { ...icon, purpose: 'any' },
      { ...icon, purpose: 'maskable' },
    ],
  })
}
