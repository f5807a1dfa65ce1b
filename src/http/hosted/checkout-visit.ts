/** One visit of a checkout's pages: what every page of it needs to read what was typed, and to draw what it shows. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Fiat } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import type { SessionId } from '../../core/ids.ts'
import { offerCoins } from '../../flows/checkout/offer-coins.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { requireFiatAmount } from '../../flows/payments/fiat-amount.ts'
import { readAmount } from './amount.ts'
import { fillText } from './html.ts'
import { type Language, showFiat } from './language.ts'
import type { Limits } from './limits.ts'
import { amountView, type Choice, chooseView, contentOf, earlierOf, type Making } from './make-view.ts'
import { drawCheckout } from './pages/draw.ts'
import { checkoutPath, frameOf, goTo, languageOf, queryOf, sendNotice, sendPage } from './respond.ts'
import type { CheckoutView, Field, TransactionSearch } from './view.ts'

export interface Visit {
  readonly gateway: Gateway
  readonly limits: Limits
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly making: Making
  readonly id: SessionId
}

const NOTHING_TYPED: Field = { value: '', problem: null }
export const NOT_SEARCHED: TransactionSearch = { isAsked: false, typed: '', answer: null, isProblem: false }
export const FIRST_CHOICE = { amountMinor: null, selected: null, problem: null, email: NOTHING_TYPED }

/** @param here - The page's own path below the session's, and what its links keep of the query. */
export function draw(
  { gateway, request, reply, making }: Visit,
  view: CheckoutView,
  status = 200,
  here: { readonly page?: string; readonly carried?: Readonly<Record<string, string>> } = {},
): FastifyReply {
  const { account, session } = making.page.checkout
  const frame = frameOf(gateway, request, { account, sessionId: session.id, ...here })
  return sendPage(reply, status, frame, drawCheckout(frame, contentOf(making, view)))
}

export const backToPage = ({ gateway, request, reply, id }: Visit): FastifyReply =>
  goTo(reply, checkoutPath(gateway, id) + queryOf(request, languageOf(request)))

/**
 * That no other coin can be taken here any more, and by what. What came for coins taken before is told first, and the way leads
 * back to the page of the coin taken last.
 */
export function sendOver(visit: Visit, about: 'closed' | 'link_disabled'): FastifyReply {
  const { gateway, request, reply, making, id } = visit
  const { state, checkout } = making.page
  const frame = frameOf(gateway, request, { account: checkout.account })
  const path = checkoutPath(gateway, id) + frame.query
  const link = state === 'choose' ? null : ({ text: 'back_to_checkout', path } as const)
  return sendNotice(reply, 410, frame, about, { earlier: earlierOf(making), link })
}

/** The coins for the session's price, for what was typed, or for what was paid before. */
export async function choose(
  { gateway, making }: Pick<Visit, 'gateway' | 'making'>,
  choice: Omit<Choice, 'offers'>,
): Promise<CheckoutView> {
  const { account, session, payment } = making.page.checkout
  const fiatMinor = session.amountMinor ?? choice.amountMinor ?? payment?.fiatMinor
  if (fiatMinor === undefined) return amountView(making, gateway.settings, NOTHING_TYPED)
  const price = { fiatMinor, currency: session.currency }
  const offers = await offerCoins(gateway, gateway.db, account, price, session.offeredAssets)
  return chooseView(making, { ...choice, offers })
}

/** The amount typed on its page, or what is wrong with it. */
export const readTyped = ({ gateway, making: { language, page } }: Visit, typed: string) =>
  readTypedPrice(gateway.settings, language, page.checkout.session.currency, typed)

export function readTypedPrice(
  settings: Gateway['settings'],
  language: Language,
  currency: Fiat,
  typed: string,
): { minor: bigint } | { problem: string } {
  const { minFiatMinor, maxFiatMinor } = settings
  const minor = readAmount(typed, language.tag, currency)
  if (minor === null)
    return {
      problem: typed === '' ? language.words.error_amount_required : language.words.error_amount_invalid,
    }
  try {
    requireFiatAmount(settings, { fiatMinor: minor, currency }, 'amount')
    return { minor }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const range = {
      min: showFiat(language, minFiatMinor, currency),
      max: showFiat(language, maxFiatMinor, currency),
    }
    return { problem: fillText(language.words.error_amount_range, range) }
  }
}
