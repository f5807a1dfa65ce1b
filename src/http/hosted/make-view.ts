/** From what a checkout is to what its page shows. */
import { type Asset, networkOf } from '../../core/assets.ts'
import { invariant } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import { divideHalfUp, fiatToNumber, formatAmount } from '../../core/money.ts'
import { isStanding } from '../../deposits/received.ts'
import { type CheckoutState, keptAtoms } from '../../flows/checkout/checkout-state.ts'
import type { CoinOffer } from '../../flows/checkout/offer-coins.ts'
import type { CheckoutPage } from '../../flows/checkout/read-checkout-page.ts'
import { neededAtoms, type Payment, takesRefundAddress } from '../../payments/payment.ts'
import { paymentUri } from '../../payments/payment-uri.ts'
import { type Language, showFiat } from './language.ts'
import {
  appLinks,
  COIN_NAMES,
  coinNetwork,
  explorerUrl,
  type HostedOptions,
  isToken,
  networkName,
  usualMinutes,
} from './networks.ts'
import { drawQr } from './qr.ts'
import type {
  AmountView,
  CancellingView,
  CheckoutContent,
  CheckoutView,
  ChooseView,
  EarlierPayment,
  Field,
  Order,
  Refund,
  Target,
  Transaction,
  TransactionSearch,
} from './view.ts'
import { walletTransfer } from './wallet.ts'

export interface Making {
  readonly options: HostedOptions
  readonly language: Language
  readonly page: CheckoutPage
}

function orderOf({ language, page: { checkout } }: Making): Order {
  const { session, payment } = checkout
  const minor = session.amountMinor ?? payment?.fiatMinor ?? null
  return { label: session.label, price: minor === null ? null : showFiat(language, minor, session.currency) }
}

export const earlierOf = ({ page }: Pick<Making, 'page'>): readonly EarlierPayment[] =>
  page.earlier.map(({ paymentId, asset, atoms }) => ({
    paymentNumber: showId('pay', paymentId),
    asset,
    received: formatAmount(atoms, asset),
  }))

/** States in which the buyer may give up. */
export const CANCELLABLE: readonly CheckoutState[] = ['choose', 'waiting']

/** What lies around the view. */
export function contentOf(making: Making, view: CheckoutView): CheckoutContent {
  const { page, options } = making
  const { payment, account } = page.checkout
  const isOver = ['paid', 'higher', 'cancelled', 'ended'].includes(page.state)
  return {
    view,
    // A settled payment may still be reversed, but nobody waits for that on its page.
    version: isOver ? null : page.moment.version,
    earlier: earlierOf(making),
    blindNetwork:
      payment && (!page.moment.isChainInSight || account.trouble === 'dead_node') && !isOver
        ? networkName(options, networkOf(payment.asset), account.mode === 'live')
        : null,
    canCancel: view.state !== 'cancelling' && CANCELLABLE.includes(page.state),
  }
}

export function amountView(
  making: Making,
  limits: { readonly minFiatMinor: bigint; readonly maxFiatMinor: bigint },
  amount: Field,
): AmountView {
  const { currency } = making.page.checkout.session
  return {
    state: 'amount',
    order: orderOf(making),
    currency,
    amount,
    min: showFiat(making.language, limits.minFiatMinor, currency),
    max: showFiat(making.language, limits.maxFiatMinor, currency),
  }
}

export interface Choice {
  readonly offers: readonly CoinOffer[]
  /** What was asked for and is carried along; null when the session has a price. */
  readonly amountMinor: bigint | null
  readonly selected: Asset | null
  readonly problem: string | null
  readonly email: Field
}

export function chooseView(making: Making, choice: Choice): ChooseView {
  const { options, language, page } = making
  const { session, account, payment } = page.checkout
  const order = orderOf(making)
  return {
    state: 'choose',
    order: {
      ...order,
      price:
        choice.amountMinor === null ? order.price : showFiat(language, choice.amountMinor, session.currency),
    },
    coins: choice.offers.map(({ asset, amount }) => ({
      asset,
      name: COIN_NAMES[asset],
      networkName: coinNetwork(options, asset, account.mode === 'live'),
      amount,
    })),
    problem: choice.problem,
    selected: choice.selected ?? payment?.asset ?? null,
    amount: choice.amountMinor === null ? null : String(fiatToNumber(choice.amountMinor)),
    changeAmount: typedAmount(session.amountMinor, choice.amountMinor ?? payment?.fiatMinor ?? null),
    email: session.customerEmail === null ? choice.email : null,
    knownEmail: session.customerEmail && hideEmail(session.customerEmail),
    current: page.state === 'waiting' && payment ? payment.asset : null,
  }
}

const typedAmount = (own: bigint | null, typed: bigint | null): string | null =>
  own !== null || typed === null ? null : String(fiatToNumber(typed))

/** Its owner knows it again; whoever else was sent the link does not learn it. */
function hideEmail(email: string): string {
  const [name = '', domain = ''] = email.split('@')
  return `${[...name][0] ?? ''}•••@${domain}`
}

/** Looked at again before it becomes a link: whoever can write to the database cannot make a script of it. */
export const onward = (url: string | null): string | null =>
  url !== null && ['https:', 'http:'].includes(URL.parse(url)?.protocol ?? '') ? url : null

export const cancellingView = (making: Making): CancellingView => ({
  state: 'cancelling',
  order: orderOf(making),
})

/**
 * The view of a checkout in which a coin was picked, or that is over.
 *
 * In one piece: one case a state.
 */
export function stateView(
  making: Making,
  search: TransactionSearch,
  refundField: Field = { value: '', problem: null },
): Exclude<CheckoutView, AmountView | ChooseView | CancellingView> {
  const { state, checkout, moment, receipt } = making.page
  const order = orderOf(making)
  if (state === 'cancelled' || state === 'ended') {
    const returnUrl = onward(checkout.cancelUrl)
    const canReopen = state === 'cancelled' && checkout.now < checkout.session.expiresAt
    return { state, order, canReopen, search: checkout.payment ? search : null, returnUrl }
  }
  invariant(checkout.payment, `a checkout that is ${state} has a payment`)
  const payment = checkout.payment
  const coins = (atoms: bigint) => formatAmount(atoms, payment.asset)
  const asset = payment.asset
  const facts = {
    order,
    asset,
    networkName: coinNetwork(making.options, asset, checkout.account.mode === 'live'),
    needed: coins(payment.dueAtoms),
    received: coins(keptAtoms(moment)),
    transactions: transactionsOf(making),
  }
  const countdown = { nowMs: checkout.now.getTime(), endsMs: payment.expiresAt.getTime() }
  const paymentNumber = making.page.view?.id ?? ''
  const refund = refundOf(making)
  // Only where it is taken: a form whose answer is thrown away would be worse than none.
  const refundAddress =
    refund === null && takesRefundAddress(payment.status)
      ? { given: making.page.view?.refund_address ?? null, field: refundField }
      : null
  const minutesOf = (confirmations: number) =>
    usualMinutes(networkOf(asset), checkout.account.mode === 'live', confirmations)
  switch (state) {
    case 'waiting':
      return {
        state,
        search,
        usualMinutes: minutesOf(payment.requiredConfirmations),
        isWithdrawn: moment.isWithdrawn,
        order,
        countdown,
        target: targetOf(making, payment, payment.dueAtoms),
      }
    case 'sent': {
      const sent = checkout.session.sentTx
      return { ...facts, state, search, transactions: sent === null ? [] : [transactionOf(making, sent)] }
    }
    case 'lower':
      return {
        ...facts,
        state,
        search,
        countdown,
        target: targetOf(making, payment, neededAtoms(payment) - keptAtoms(moment)),
      }
    case 'seen':
    case 'confirming': {
      const { confirmations, requiredConfirmations } = moment
      const usualMinutes = minutesOf(requiredConfirmations - confirmations)
      return { ...facts, state, confirmations, requiredConfirmations, usualMinutes }
    }
    case 'ending':
      return { state, order, search }
    case 'paid':
    case 'higher': {
      const excess = moment.receivedAtoms - payment.dueAtoms
      return {
        ...facts,
        state,
        paymentNumber,
        excess: excess > 0n ? coins(excess) : null,
        lacking: excess < 0n && payment.accepted === null ? coins(-excess) : null,
        refundAddress,
        refund,
        completedAt: payment.completedAt ?? checkout.now,
        mail: receipt && { to: hideEmail(receipt.address), isQueued: receipt.isQueued },
        returnUrl: onward(checkout.successUrl),
      }
    }
    case 'late':
    case 'lower_over':
    case 'refunded':
      return {
        ...facts,
        state,
        paymentNumber,
        isConfirmed: moment.confirmations >= moment.requiredConfirmations,
        refundAddress,
        refund,
        received: coins((state === 'refunded' ? moment.receivedAtoms : keptAtoms(moment)) + moment.lateAtoms),
        returnUrl: onward(checkout.cancelUrl),
      }
    case 'expired':
    case 'replaced':
      return { state, order, asset, search, returnUrl: onward(checkout.cancelUrl) }
    case 'choose':
      throw new RangeError('a checkout without a coin is drawn as a choice')
  }
}

/** What a whole coin was quoted at, half up to the cent. */
function showRate(language: Language, { asset, rate, fiatCurrency }: Payment): string {
  const coin = language.direction === 'rtl' ? `\u20661 ${asset}\u2069` : `1 ${asset}`
  return `${coin} = ${showFiat(language, divideHalfUp(rate.numerator, rate.denominator), fiatCurrency)}`
}

function refundOf(making: Making): Refund | null {
  const { refund } = making.page
  if (!refund) return null
  const { asset, netAtoms, destination, txHash } = refund
  return {
    asset,
    amount: formatAmount(netAtoms, asset),
    address: destination,
    transaction: txHash === null ? null : transactionOf(making, txHash),
  }
}

function targetOf({ options, language, page }: Making, payment: Payment, atoms: bigint): Target {
  const { words } = language
  const { asset, address } = payment
  const isLive = page.checkout.account.mode === 'live'
  const amount = formatAmount(atoms, asset)
  const uri = paymentUri({ asset, address, atoms }, page.place)
  return {
    asset,
    coinName: COIN_NAMES[asset],
    networkName: coinNetwork(options, asset, isLive),
    chainName: networkName(options, networkOf(asset), isLive),
    address,
    amount,
    qr: uri === null ? drawQr(address, words.qr_address) : drawQr(uri, words.qr_payment),
    // A wallet that does not know such links to the end reads them as something else: the address alone is always right.
    plainQr: uri !== null && networkOf(asset) === 'ethereum' ? drawQr(address, words.qr_address) : null,
    hasAmount: uri !== null,
    walletLink: uri,
    appLinks: appLinks(
      { asset, address, amount },
      page.place,
      uri,
      isLive && (options.networks?.[networkOf(asset)] ?? 'mainnet') === 'mainnet',
    ),
    rate: showRate(language, payment),
    isToken: isToken(asset),
    paymentNumber: showId('pay', payment.id),
    transfer: walletTransfer({ asset, address, atoms }, page.place),
  }
}

function transactionsOf(making: Making): Transaction[] {
  const { checkout, view } = making.page
  const hashes = (view?.deposits ?? []).flatMap((deposit) =>
    deposit.tx_hash !== null && deposit.asset === checkout.payment?.asset && isStanding(deposit.status)
      ? [deposit.tx_hash]
      : [],
  )
  return [...new Set(hashes)].map((hash) => transactionOf(making, hash))
}

function transactionOf({ options, page: { checkout, view } }: Making, hash: string): Transaction {
  return {
    hash,
    url: view && explorerUrl(options, view.network, checkout.account.mode === 'live', hash),
  }
}
