/** `/checkout/{cs_…}`: the pages of a session and the forms on them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ASSET_FACTS, isAsset, networkOf } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import { readId, type SessionId } from '../../core/ids.ts'
import { formatDecimal } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import {
  cancelCheckout,
  dropSentTransaction,
  keepSentTransaction,
  pickCoin,
  reopenCheckout,
} from '../../flows/checkout/checkout.ts'
import type { CheckoutState } from '../../flows/checkout/checkout-state.ts'
import {
  type BuyerTransaction,
  findBuyerTransaction,
  readTransactionId,
} from '../../flows/checkout/find-buyer-transaction.sql.ts'
import { giveRefundAddress } from '../../flows/checkout/give-refund-address.ts'
import { offerCoins } from '../../flows/checkout/offer-coins.ts'
import { readCheckoutPage } from '../../flows/checkout/read-checkout-page.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { requireFiatAmount } from '../../flows/payments/fiat-amount.ts'
import { payInSandbox } from '../../flows/sandbox.ts'
import type { PaymentStatus } from '../../payments/payment.ts'
import { readAmount } from './amount.ts'
import { type Form, queryValue, requireOwnPage } from './forms.ts'
import { fillText } from './html.ts'
import { showFiat } from './language.ts'
import type { Words } from './languages/en.ts'
import type { Limits } from './limits.ts'
import {
  amountView,
  type Choice,
  cancellingView,
  chooseView,
  contentOf,
  type Making,
  stateView,
} from './make-view.ts'
import { type HostedOptions, networkName } from './networks.ts'
import { drawCheckout } from './pages/draw.ts'
import {
  checkoutPath,
  frameOf,
  goTo,
  isForeignFrame,
  LINK_DISABLED,
  languageOf,
  queryOf,
  sendForeignFrame,
  sendNotice,
  sendPage,
  UNKNOWN,
} from './respond.ts'
import type { CheckoutView, Field, TransactionSearch } from './view.ts'

const NOTHING_TYPED: Field = { value: '', problem: null }
const NOT_SEARCHED: TransactionSearch = { isAsked: false, typed: '', answer: null, isProblem: false }
/** States in which the buyer may take another coin, and in which he may give up. */
const CHANGEABLE: readonly CheckoutState[] = ['choose', 'waiting', 'expired', 'replaced']
const CANCELLABLE: readonly CheckoutState[] = ['choose', 'waiting']
/** Of payments on test pages that may be paid from there. */
const SIMULATED: readonly PaymentStatus[] = ['pending', 'underpaid', 'detected']
const EMAIL = /^[^\s@]+@[^\s@]+$/
const EMAIL_LENGTH_MAX = 254

type Request = FastifyRequest<{ Params: { id: string } }>

export function registerCheckoutPages(
  scope: FastifyInstance,
  gateway: Gateway,
  options: HostedOptions,
  limits: Limits,
): void {
  const draw = (
    request: Request,
    reply: FastifyReply,
    making: Making,
    view: CheckoutView,
    status = 200,
    here: { readonly page?: string; readonly carried?: Readonly<Record<string, string>> } = {},
  ) => {
    const { account, session } = making.page.checkout
    const frame = frameOf(gateway, request, { account, sessionId: session.id, ...here })
    return sendPage(reply, status, frame, drawCheckout(frame, contentOf(making, view)))
  }

  /** Answers "unknown" by itself, so that no route forgets to. */
  const withCheckout =
    (
      answer: (request: Request, reply: FastifyReply, making: Making, id: SessionId) => Promise<FastifyReply>,
    ) =>
    async (request: Request, reply: FastifyReply): Promise<FastifyReply> => {
      const id = readId('cs', request.params.id)
      const page = id && (await readCheckoutPage(gateway, gateway.db, id))
      if (!id || !page) {
        return sendNotice(reply, 404, frameOf(gateway, request, { account: null, sessionId: null }), UNKNOWN)
      }
      if (isForeignFrame(gateway, request, page.checkout.account))
        return sendForeignFrame(gateway, request, reply, checkoutPath(gateway, id))
      return answer(request, reply, { options, language: languageOf(request), page }, id)
    }

  const backTo = (request: Request, reply: FastifyReply, id: SessionId) =>
    goTo(reply, checkoutPath(gateway, id) + queryOf(request, languageOf(request)))

  /** The coins for the session's price, for what was typed, or for what was paid before. */
  const choose = async (making: Making, choice: Omit<Choice, 'offers'>): Promise<CheckoutView> => {
    const { account, session, payment } = making.page.checkout
    const fiatMinor = session.amountMinor ?? choice.amountMinor ?? payment?.fiatMinor
    if (fiatMinor === undefined) return amountView(making, gateway.settings, NOTHING_TYPED)
    const price = { fiatMinor, currency: session.currency }
    const offers = await offerCoins(gateway, gateway.db, account, price, session.offeredAssets)
    return chooseView(making, { ...choice, offers })
  }

  /** The amount typed on its page, or what is wrong with it. */
  const readTyped = (making: Making, typed: string): { minor: bigint } | { problem: string } => {
    const { language, page } = making
    const { currency } = page.checkout.session
    const { minFiatMinor, maxFiatMinor } = gateway.settings
    const minor = readAmount(typed, language.tag)
    if (minor === null)
      return {
        problem: typed === '' ? language.words.error_amount_required : language.words.error_amount_invalid,
      }
    try {
      requireFiatAmount(gateway.settings, { fiatMinor: minor, currency }, 'amount')
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

  const firstChoice = { amountMinor: null, selected: null, problem: null, email: NOTHING_TYPED }

  /** The coins, for the amount of the query where the session has none of its own. */
  const drawChoice = async (request: Request, reply: FastifyReply, making: Making, page = '') => {
    const typed = queryValue(request, 'amount')
    if (making.page.checkout.session.amountMinor !== null || typed === '')
      return draw(request, reply, making, await choose(making, firstChoice), 200, { page })
    const read = readTyped(making, typed)
    if ('minor' in read) {
      const view = await choose(making, { ...firstChoice, amountMinor: read.minor })
      // Written so that every language reads the same amount.
      const carried = view.state === 'choose' && view.amount !== null ? { amount: view.amount } : {}
      return draw(request, reply, making, view, 200, { page, carried })
    }
    const field = { value: typed, problem: read.problem }
    return draw(request, reply, making, amountView(making, gateway.settings, field), 400, { page })
  }

  scope.get(
    '/checkout/:id',
    withCheckout(async (request, reply, making) =>
      making.page.state === 'choose'
        ? drawChoice(request, reply, making)
        : draw(request, reply, making, stateView(making, NOT_SEARCHED)),
    ),
  )

  /** Other coins, while one is quoted already or its price is over. */
  scope.get(
    '/checkout/:id/coins',
    withCheckout(async (request, reply, making, id) => {
      if (!CHANGEABLE.includes(making.page.state)) return backTo(request, reply, id)
      return drawChoice(request, reply, making, '/coins')
    }),
  )

  /** The amount once more, as it was typed. */
  scope.get(
    '/checkout/:id/amount',
    withCheckout(async (request, reply, making, id) => {
      const { state, checkout } = making.page
      if (!CHANGEABLE.includes(state) || checkout.session.amountMinor !== null)
        return backTo(request, reply, id)
      const field = { value: queryValue(request, 'amount').slice(0, 40), problem: null }
      const here = { page: '/amount', carried: { amount: field.value } }
      return draw(request, reply, making, amountView(making, gateway.settings, field), 200, here)
    }),
  )

  scope.get(
    '/checkout/:id/cancel',
    withCheckout(async (request, reply, making, id) =>
      CANCELLABLE.includes(making.page.state)
        ? draw(request, reply, making, cancellingView(making), 200, { page: '/cancel' })
        : backTo(request, reply, id),
    ),
  )

  scope.get(
    '/checkout/:id/transaction',
    withCheckout(async (request, reply, making, id) => {
      const { state } = making.page
      if (state === 'choose') return backTo(request, reply, id)
      const typed = queryValue(request, 'id').slice(0, 200)
      const hash = readTransactionId(typed)
      const found = hash && (await findBuyerTransaction(gateway.db, id, hash))
      const { words } = making.language
      const merchant = making.page.checkout.account.brandName ?? making.page.checkout.account.name
      const word = hash === null ? 'tx_invalid' : found ? answerTo(found) : 'tx_unknown'
      const search: TransactionSearch = {
        isAsked: true,
        typed,
        answer: typed === '' ? null : fillText(words[word], { merchant }),
        isProblem: typed !== '' && !found,
      }
      const here = { page: '/transaction', carried: { id: typed } }
      return draw(request, reply, making, stateView(making, search), 200, here)
    }),
  )

  // Whoever reloads the answer to a form that was refused, or could not be taken.
  for (const form of ['coin', 'reopen', 'sent', 'unsent', 'simulate', 'refund-address']) {
    scope.get(
      `/checkout/:id/${form}`,
      withCheckout(async (request, reply, _making, id) => backTo(request, reply, id)),
    )
  }

  scope.post(
    '/checkout/:id/coin',
    withCheckout(async (request, reply, making, id) => {
      requireOwnPage(request, gateway.settings.publicUrl)
      const { words } = making.language
      const form = request.body as Form
      const { session } = making.page.checkout
      const asset = form.get('asset') ?? ''
      const typedAmount = session.amountMinor === null ? (form.get('amount') ?? '') : ''
      const typedEmail = session.customerEmail === null ? (form.get('email') ?? '') : ''

      const amount = typedAmount === '' ? null : readTyped(making, typedAmount)
      if (amount && 'problem' in amount) {
        const field = { value: typedAmount, problem: amount.problem }
        return draw(request, reply, making, amountView(making, gateway.settings, field), 400)
      }
      const amountMinor = amount?.minor ?? null
      const again = async (status: number, problem: string | null, emailProblem: string | null = null) =>
        draw(
          request,
          reply,
          making,
          await choose(making, {
            amountMinor,
            selected: isAsset(asset) ? asset : null,
            problem,
            email: { value: typedEmail, problem: emailProblem },
          }),
          status,
        )
      const isEmail = typedEmail === '' || (EMAIL.test(typedEmail) && typedEmail.length <= EMAIL_LENGTH_MAX)
      if (!isAsset(asset))
        return again(400, words.error_coin_required, isEmail ? null : words.error_email_invalid)
      if (!isEmail) return again(400, null, words.error_email_invalid)

      await limits.countPayment(request.ip, session)
      try {
        const choice = { asset, amountMinor, email: typedEmail === '' ? null : typedEmail }
        await gateway.db.transaction((tx) => pickCoin(gateway, tx, id, choice))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const meaning = meaningOf(error)
        if (meaning === 'page') return backTo(request, reply, id)
        if (meaning === 'link_disabled') {
          const frame = frameOf(gateway, request, { account: making.page.checkout.account, sessionId: null })
          return sendNotice(reply, 410, frame, LINK_DISABLED)
        }
        if (meaning === null) throw error
        return again(meaning === 'error_coin_unavailable' ? 503 : 400, words[meaning])
      }
      gateway.wake('deliver')
      return backTo(request, reply, id)
    }),
  )

  /** Forms that change where the checkout stands, and lead back to its page whatever that shows by now. */
  const change = (form: string, act: (tx: Tx, id: SessionId, fields: Form) => Promise<void>) =>
    scope.post(
      `/checkout/:id/${form}`,
      withCheckout(async (request, reply, _making, id) => {
        requireOwnPage(request, gateway.settings.publicUrl)
        try {
          await gateway.db.transaction((tx) => act(tx, id, request.body as Form))
        } catch (error) {
          if (!(error instanceof Refusal) || meaningOf(error) !== 'page') throw error
        }
        return backTo(request, reply, id)
      }),
    )
  change('simulate', async (tx, id) => {
    const { checkout, moment } = (await readCheckoutPage(gateway, tx, id)) ?? {}
    const { account, payment } = checkout ?? {}
    if (account?.mode !== 'test' || !payment || !SIMULATED.includes(payment.status)) return
    // A part may be there already, and the rest of it on its way.
    const missing = payment.dueAtoms - (moment?.receivedAtoms ?? 0n)
    if (missing <= 0n) return
    const amount = formatDecimal(missing, ASSET_FACTS[payment.asset].decimals)
    await payInSandbox(tx, account, payment.id, { amount, confirmations: payment.requiredConfirmations })
  })
  scope.post(
    '/checkout/:id/refund-address',
    withCheckout(async (request, reply, making, id) => {
      requireOwnPage(request, gateway.settings.publicUrl)
      const typed = ((request.body as Form).get('address') ?? '').slice(0, 128)
      try {
        await gateway.db.transaction((tx) => giveRefundAddress(gateway, tx, id, typed))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const { payment, account } = making.page.checkout
        const isHeld = ['late', 'lower_over', 'higher'].includes(making.page.state)
        if (error.reason !== 'invalid_address' || !payment || !isHeld) return backTo(request, reply, id)
        const network = networkName(options, networkOf(payment.asset), account.mode === 'live')
        const problem = fillText(making.language.words.error_address, { asset: payment.asset, network })
        return draw(request, reply, making, stateView(making, NOT_SEARCHED, { value: typed, problem }), 400)
      }
      return backTo(request, reply, id)
    }),
  )
  change('cancel', cancelCheckout)
  change('reopen', reopenCheckout)
  change('unsent', dropSentTransaction)
  change('sent', async (tx, id, fields) => {
    const payment = readId('pay', fields.get('payment') ?? '')
    const hash = readTransactionId(fields.get('hash') ?? '')
    if (payment && hash) await keepSentTransaction(tx, id, payment, hash)
  })
}

/** What a refusal means to the buyer: that the page shows another state by now, a sentence, or nothing of his. */
function meaningOf({ kind, reason }: Refusal): 'page' | 'link_disabled' | keyof Words | null {
  if (kind === 'unavailable') return 'error_coin_unavailable'
  switch (reason) {
    case 'session_ended':
    case 'payment_in_progress':
      return 'page'
    case 'payment_link_disabled':
      return 'link_disabled'
    case 'amount_required':
      return 'error_amount_required'
    default:
      return null
  }
}

function answerTo(found: BuyerTransaction): keyof Words {
  if (found.dust) return 'tx_dust'
  if (found.status === 'replaced') return 'tx_replaced'
  if (found.status === 'dropped') return 'tx_unknown'
  if (found.status !== 'confirmed') return 'tx_seen'
  return found.paymentStatus === 'completed' || found.paymentStatus === 'overpaid' ? 'tx_done' : 'tx_held'
}
