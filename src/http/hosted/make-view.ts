/** From what a checkout is to what its page shows. */
import { ASSET_FACTS, type Asset, networkOf } from '../../core/assets.ts'
import { invariant } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import { fiatToNumber, formatDecimal } from '../../core/money.ts'
import type { CoinOffer } from '../../flows/checkout/offer-coins.ts'
import type { CheckoutPage } from '../../flows/checkout/read-checkout-page.ts'
import type { Payment } from '../../payments/payment.ts'
import { type Language, showFiat, showTime } from './language.ts'
import { COIN_NAMES, explorerUrl, type HostedOptions, networkName } from './networks.ts'
import { drawQr } from './qr.ts'
import type {
  AmountView,
  CheckoutContent,
  CheckoutView,
  ChooseView,
  Field,
  Order,
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

/** What lies around the view. */
export function contentOf(making: Making, view: CheckoutView): CheckoutContent {
  const { page, options } = making
  const { payment, account } = page.checkout
  const isOver = ['paid', 'higher', 'cancelled', 'ended'].includes(page.state)
  return {
    view,
    // A settled payment may still be reversed, but nobody waits for that on its page.
    version: isOver ? null : page.moment.version,
    earlier: page.earlier.map(({ paymentId, asset, atoms }) => ({
      paymentNumber: showId('pay', paymentId),
      asset,
      received: formatDecimal(atoms, ASSET_FACTS[asset].decimals),
    })),
    blindNetwork:
      payment && !page.moment.isChainInSight && !isOver
        ? networkName(options, networkOf(payment.asset), account.mode === 'live')
        : null,
    canCancel: ['choose', 'waiting'].includes(page.state),
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
    coins: choice.offers.map(({ asset, network, amount }) => ({
      asset,
      name: COIN_NAMES[asset],
      networkName: networkName(options, network, account.mode === 'live'),
      amount,
    })),
    problem: choice.problem,
    selected: choice.selected ?? payment?.asset ?? null,
    amount: choice.amountMinor === null ? null : String(fiatToNumber(choice.amountMinor)),
    email: session.customerEmail === null ? choice.email : null,
    knownEmail: session.customerEmail && hideEmail(session.customerEmail),
    current: page.state === 'waiting' && payment ? payment.asset : null,
  }
}

/** Its owner knows it again; whoever else was sent the link does not learn it. */
function hideEmail(email: string): string {
  const [name = '', domain = ''] = email.split('@')
  return `${[...name][0] ?? ''}•••@${domain}`
}

/** Looked at again before it becomes a link: whoever can write to the database cannot make a script of it. */
const onward = (url: string | null): string | null =>
  url !== null && ['https:', 'http:'].includes(URL.parse(url)?.protocol ?? '') ? url : null

/** The view of a checkout in which a coin was picked, or that is over. */
export function stateView(
  making: Making,
  search: TransactionSearch,
): Exclude<CheckoutView, AmountView | ChooseView> {
  const { state, checkout, moment } = making.page
  const order = orderOf(making)
  if (state === 'cancelled' || state === 'ended') {
    const returnUrl = onward(checkout.cancelUrl)
    return { state, order, search: checkout.payment ? search : null, returnUrl }
  }
  invariant(checkout.payment, `a checkout that is ${state} has a payment`)
  const payment = checkout.payment
  const coins = (atoms: bigint) => formatDecimal(atoms, ASSET_FACTS[payment.asset].decimals)
  const asset = payment.asset
  const facts = {
    order,
    asset,
    networkName: networkName(making.options, networkOf(asset), checkout.account.mode === 'live'),
    needed: coins(payment.dueAtoms),
    received: coins(moment.receivedAtoms),
    transactions: transactionsOf(making),
  }
  const countdown = { nowMs: checkout.now.getTime(), endsMs: payment.expiresAt.getTime() }
  const paymentNumber = making.page.view?.id ?? ''
  switch (state) {
    case 'waiting':
      return { state, order, countdown, target: targetOf(making, payment, payment.dueAtoms) }
    case 'lower':
      return {
        ...facts,
        state,
        countdown,
        target: targetOf(making, payment, payment.dueAtoms - moment.receivedAtoms),
      }
    case 'seen':
    case 'confirming': {
      const { confirmations, requiredConfirmations } = moment
      return { ...facts, state, confirmations, requiredConfirmations }
    }
    case 'ending':
      return { state, order }
    case 'paid':
    case 'higher': {
      const excess = moment.receivedAtoms - payment.dueAtoms
      return {
        ...facts,
        state,
        paymentNumber,
        excess: excess > 0n ? coins(excess) : null,
        completedAt: showTime(making.language, payment.completedAt ?? checkout.now),
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
        received: coins(moment.receivedAtoms + moment.lateAtoms),
        returnUrl: onward(checkout.cancelUrl),
      }
    case 'expired':
    case 'replaced':
      return { state, order, asset, search, returnUrl: onward(checkout.cancelUrl) }
    case 'choose':
      throw new RangeError('a checkout without a coin is drawn as a choice')
  }
}

function targetOf({ options, language, page }: Making, payment: Payment, atoms: bigint): Target {
  const { words } = language
  const { asset, address } = payment
  const { decimals, uriScheme } = ASSET_FACTS[asset]
  const amount = formatDecimal(atoms, decimals)
  const isToken = asset === 'USDC' || asset === 'USDT'
  // A wallet that reads `ethereum:` with an amount sends ether, so tokens have no link and a code of the address alone.
  const uri = `${uriScheme}:${address}?amount=${amount}`
  return {
    asset,
    coinName: COIN_NAMES[asset],
    networkName: networkName(options, networkOf(asset), page.checkout.account.mode === 'live'),
    address,
    amount,
    qr: isToken ? drawQr(address, words.qr_address) : drawQr(uri, words.qr_payment),
    walletLink: isToken ? null : uri,
    isToken,
    transfer: walletTransfer(options, { asset, address, atoms, chainId: page.evmChainId }),
  }
}

function transactionsOf({ options, page: { checkout, view } }: Making): Transaction[] {
  const hashes = (view?.deposits ?? []).flatMap((deposit) =>
    deposit.tx_hash !== null &&
    deposit.asset === checkout.payment?.asset &&
    ['seen', 'confirmed', 'reorganised'].includes(deposit.status)
      ? [deposit.tx_hash]
      : [],
  )
  const isLive = checkout.account.mode === 'live'
  return [...new Set(hashes)].map((hash) => ({
    hash,
    url: view && explorerUrl(options, view.network, isLive, hash),
  }))
}
