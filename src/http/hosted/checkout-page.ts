/** `/checkout/{cs_…}`: the pages of a session and the forms on them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import { readId, type SessionId } from '../../core/ids.ts'
import { formatAmount } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import {
  cancelCheckout,
  dropSentTransaction,
  keepSentTransaction,
  reopenCheckout,
} from '../../flows/checkout/checkout.ts'
import { HELD_STATES, keptAtoms, takesOtherCoin } from '../../flows/checkout/checkout-state.ts'
import {
  type BuyerTransaction,
  findBuyerTransaction,
  readTransactionId,
} from '../../flows/checkout/find-buyer-transaction.sql.ts'
import { giveRefundAddress } from '../../flows/checkout/give-refund-address.ts'
import { mailReceipt } from '../../flows/checkout/mail-receipt.ts'
import { readCheckoutPage } from '../../flows/checkout/read-checkout-page.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { payInSandbox } from '../../flows/sandbox.ts'
import { isPaid, neededAtoms, type PaymentStatus } from '../../payments/payment.ts'
import { InvalidAddress, LostAddress } from '../../withdrawals/destination.ts'
import { RateLimited } from '../errors.ts'
import {
  backToPage,
  choose,
  draw,
  FIRST_CHOICE,
  NOT_SEARCHED,
  readTyped,
  sendOver,
  type Visit,
} from './checkout-visit.ts'
import { type Form, queryValue, requireOwnPage } from './forms.ts'
import { fillText } from './html.ts'
import type { Words } from './languages/en.ts'
import type { Limits } from './limits.ts'
import { amountView, CANCELLABLE, cancellingView, onward, stateView } from './make-view.ts'
import { coinNetwork, type HostedOptions } from './networks.ts'
import { meaningOf, takeCoin } from './pick-coin-form.ts'
import { receiptLetter } from './receipt-letter.ts'
import { readGiver, rememberGiver } from './refund-giver.ts'
import { checkoutPath, frameOf, isForeignFrame, languageOf, sendForeignFrame, sendNotice } from './respond.ts'
import type { TransactionSearch } from './view.ts'

export function registerCheckoutPages(
  scope: FastifyInstance,
  gateway: Gateway,
  options: HostedOptions,
  limits: Limits,
): void {
  /** Answers "unknown" by itself, so that no route forgets to. */
  const visited =
    (answer: (visit: Visit) => Promise<FastifyReply>) =>
    async (
      request: FastifyRequest<{ Params: { id: string } }>,
      reply: FastifyReply,
    ): Promise<FastifyReply> => {
      const id = readId('cs', request.params.id)
      const page = id && (await readCheckoutPage(gateway, gateway.db, id))
      if (!id || !page) return sendNotice(reply, 404, frameOf(gateway, request), 'unknown')
      if (isForeignFrame(gateway, request, page.checkout.account))
        return sendForeignFrame(gateway, request, reply, checkoutPath(gateway, id))
      if (request.method === 'POST') requireOwnPage(request, gateway.settings.publicUrl)
      const making = { options, language: languageOf(request), page }
      return answer({ gateway, limits, request, reply, making, id })
    }

  scope.get('/checkout/:id', visited(showCheckout))
  scope.get('/checkout/:id/coins', visited(showCoins))
  scope.get('/checkout/:id/amount', visited(showAmount))
  scope.get('/checkout/:id/cancel', visited(showCancelling))
  scope.get('/checkout/:id/transaction', visited(showTransaction))
  const back = visited(async (visit) => backToPage(visit))
  for (const [form, take] of Object.entries(FORMS)) {
    scope.post(`/checkout/:id/${form}`, visited(take))
    // Whoever reloads the answer to a form that was refused, or could not be taken; cancelling has a page of its own.
    if (form !== 'cancel') scope.get(`/checkout/:id/${form}`, back)
  }
}

/** Of payments on test pages that may be paid from there. */
const SIMULATED: readonly PaymentStatus[] = ['pending', 'underpaid', 'detected']

const showCheckout = async (visit: Visit): Promise<FastifyReply> =>
  visit.making.page.state === 'choose'
    ? drawChoice(visit)
    : draw(visit, stateView(visit.making, NOT_SEARCHED))

/** Other coins, while one is quoted already or its price is over. */
const showCoins = async (visit: Visit): Promise<FastifyReply> =>
  takesOtherCoin(visit.making.page.state) ? drawChoice(visit, '/coins') : backToPage(visit)

/** The coins, for the amount of the query where the session has none of its own. */
async function drawChoice(visit: Visit, page = ''): Promise<FastifyReply> {
  const { gateway, request, making } = visit
  if (making.page.checkout.account.closedAt) return sendOver(visit, 'closed')
  const typed = queryValue(request, 'amount')
  if (making.page.checkout.session.amountMinor !== null || typed === '')
    return draw(visit, await choose(visit, FIRST_CHOICE), 200, { page })
  const read = readTyped(visit, typed)
  if ('minor' in read) {
    const view = await choose(visit, { ...FIRST_CHOICE, amountMinor: read.minor })
    // Written so that every language reads the same amount.
    const carried = view.state === 'choose' && view.amount !== null ? { amount: view.amount } : {}
    return draw(visit, view, 200, { page, carried })
  }
  const field = { value: typed, problem: read.problem }
  return draw(visit, amountView(making, gateway.settings, field), 400, { page })
}

/** The amount once more, as it was typed. */
async function showAmount(visit: Visit): Promise<FastifyReply> {
  const { gateway, request, making } = visit
  const { state, checkout } = making.page
  if (!takesOtherCoin(state) || checkout.session.amountMinor !== null) return backToPage(visit)
  const field = { value: queryValue(request, 'amount').slice(0, 40).toWellFormed(), problem: null }
  const here = { page: '/amount', carried: { amount: field.value } }
  return draw(visit, amountView(making, gateway.settings, field), 200, here)
}

const showCancelling = async (visit: Visit): Promise<FastifyReply> =>
  CANCELLABLE.includes(visit.making.page.state)
    ? draw(visit, cancellingView(visit.making), 200, { page: '/cancel' })
    : backToPage(visit)

async function showTransaction(visit: Visit): Promise<FastifyReply> {
  const { gateway, request, making, id } = visit
  if (making.page.state === 'choose') return backToPage(visit)
  const typed = queryValue(request, 'id').slice(0, 200).toWellFormed()
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
  return draw(visit, stateView(making, search), 200, { page: '/transaction', carried: { id: typed } })
}

/**
 * Sends what is still missing, on test pages: confirmed at once, or as a wallet sends it, which the chain's own blocks
 * confirm.
 */
export async function simulatePayment(gateway: Gateway, id: SessionId, fields: Form): Promise<void> {
  if (await gateway.db.transaction((tx) => sendMissing(gateway, tx, id, fields))) gateway.wake('sandbox')
}

/** @returns Whether anything was missing. */
async function sendMissing(gateway: Gateway, tx: Tx, id: SessionId, fields: Form): Promise<boolean> {
  const { checkout, moment } = (await readCheckoutPage(gateway, tx, id)) ?? {}
  const { account, payment } = checkout ?? {}
  if (account?.mode !== 'test' || !payment || !SIMULATED.includes(payment.status)) return false
  // A part may be there already, and the rest of it on its way.
  const missing = neededAtoms(payment) - (moment ? keptAtoms(moment) : 0n)
  if (missing <= 0n) return false
  const amount = formatAmount(missing, payment.asset)
  const confirmations = fields.get('confirmations') === '0' ? 0 : payment.requiredConfirmations
  await payInSandbox(tx, account, payment.id, { amount, confirmations })
  return true
}

/** By the ends of their paths. */
const FORMS: Readonly<Record<string, (visit: Visit) => Promise<FastifyReply>>> = {
  coin: takeCoin,
  'refund-address': takeRefundAddress,
  receipt: takeReceipt,
  simulate: leadingBack(({ gateway, request, id }) => simulatePayment(gateway, id, request.body as Form)),
  cancel: changing((_gateway, tx, id) => cancelCheckout(tx, id), toShop),
  reopen: changing((_gateway, tx, id) => reopenCheckout(tx, id)),
  unsent: changing((_gateway, tx, id) => dropSentTransaction(tx, id)),
  sent: changing(async (_gateway, tx, id, fields) => {
    const payment = readId('pay', fields.get('payment') ?? '')
    const hash = readTransactionId(fields.get('hash') ?? '')
    if (payment && hash) await keepSentTransaction(tx, id, payment, hash)
  }),
}

/** A form that changes where the checkout stands. */
function changing(
  act: (gateway: Gateway, tx: Tx, id: SessionId, fields: Form) => Promise<void>,
  next: typeof toShop = async (visit) => backToPage(visit),
) {
  return leadingBack(
    ({ gateway, request, id }) => gateway.db.transaction((tx) => act(gateway, tx, id, request.body as Form)),
    next,
  )
}

/**
 * Once the checkout was given up, on to the shop; in a frame, and where the page's script asked, the page itself leads on. Not by
 * a redirect: browsers take that for a form sent to another site, which the policy forbids, and so would the one after it.
 */
async function toShop(visit: Visit): Promise<FastifyReply> {
  const { gateway, request, reply, making, id } = visit
  const url = onward(making.page.checkout.cancelUrl)
  if (url === null || request.headers['sec-fetch-dest'] !== 'document') return backToPage(visit)
  const page = await readCheckoutPage(gateway, gateway.db, id)
  if (page?.state !== 'cancelled') return backToPage(visit)
  reply.header('Refresh', `0; url=${new URL(url).href}`)
  const shown = { ...visit, making: { ...making, page } }
  return draw(shown, stateView(shown.making, NOT_SEARCHED))
}

/** What a form does, and the way back to its page, whatever that shows by now. */
function leadingBack(
  act: (visit: Visit) => Promise<void>,
  next: (visit: Visit) => Promise<FastifyReply> = async (visit) => backToPage(visit),
) {
  return async (visit: Visit): Promise<FastifyReply> => {
    try {
      await act(visit)
    } catch (error) {
      if (meaningOf(error) !== 'page') throw error
    }
    return next(visit)
  }
}

/** Where what is held may go back to. An address that is none is asked for again, as it was typed. */
async function takeRefundAddress(visit: Visit): Promise<FastifyReply> {
  const { gateway, request, reply, making, id } = visit
  const typed = ((request.body as Form).get('address') ?? '').slice(0, 128).toWellFormed()
  const given = { address: typed, proof: readGiver(request) }
  try {
    const proof = await gateway.db.transaction((tx) => giveRefundAddress(gateway, tx, id, given))
    if (proof !== null) rememberGiver(gateway, reply, id, proof)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { payment, account } = making.page.checkout
    const { words } = making.language
    if (!payment || !HELD_STATES.includes(making.page.state)) return backToPage(visit)
    const again = (problem: string, status: number) =>
      draw(visit, stateView(making, NOT_SEARCHED, { value: typed, problem }), status)
    if (error.reason === 'refund_address_given') {
      const merchant = account.brandName ?? account.name
      return again(fillText(words.refund_kept, { merchant }), 409)
    }
    if (!(error instanceof InvalidAddress)) return backToPage(visit)
    const problem = error instanceof LostAddress ? words.error_lost : words.error_address
    const network = coinNetwork(making.options, payment.asset, account.mode === 'live')
    return again(fillText(problem, { asset: payment.asset, network }), 400)
  }
  return backToPage(visit)
}

/** By mail, in the language of the page. */
async function takeReceipt(visit: Visit): Promise<FastifyReply> {
  const { gateway, making } = visit
  const view = stateView(making, NOT_SEARCHED)
  if (view.state !== 'paid' && view.state !== 'higher') return backToPage(visit)
  const letter = receiptLetter(gateway, making, view)
  const isSent = await gateway.db.transaction((tx) => mailReceipt(gateway, tx, making.page.checkout, letter))
  if (!isSent) throw new RateLimited('this address was sent enough receipts for one day', 3_600)
  return backToPage(visit)
}

function answerTo(found: BuyerTransaction): keyof Words {
  if (found.dust) return 'tx_dust'
  if (found.status === 'replaced') return 'tx_replaced'
  if (found.status === 'dropped') return 'tx_unknown'
  if (found.status !== 'confirmed') return 'tx_seen'
  return isPaid(found.paymentStatus) ? 'tx_done' : 'tx_held'
}
