/**
 * Checkout: from a session to a payment.
 *
 * A merchant's server creates a session ({@link createSession}), or a visitor opens a payment link
 * ({@link openPaymentLink}); both lead to `/checkout/{cs_…}`. There the buyer picks a coin ({@link pickCoin}), which
 * locks a rate and makes a payment. He may change the coin, or ask for a new quote after the window, as long as
 * nothing was seen; the payment he leaves is cancelled and its address stays watched. Where a session stands is
 * always read from its payment ({@link readCheckout}), so that it can never say another thing.
 *
 * A buyer brings the session's id alone: it is 128 random bits and lets him in. The flows that write run in the
 * caller's transaction; after its commit the caller wakes `deliver`.
 */
import type { Account } from '../../accounts/account.ts'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { requireOpenAccount } from '../../accounts/closing.sql.ts'
import { offeredBy } from '../../accounts/offered-assets.ts'
import { countPaymentLinkUse, findLinkForVisitor, findPaymentLink } from '../../checkout/payment-links.sql.ts'
import { parseRedirectUrl } from '../../checkout/redirect-url.ts'
import {
  type CheckoutSession,
  type SessionStatus,
  sessionNotFound,
  sessionStatus,
} from '../../checkout/session.ts'
import {
  findSession,
  findSessionForBuyer,
  insertSession,
  lockSession,
  markSessionCancelled,
  type SessionNow,
  setSentTransaction,
  setSessionPayment,
} from '../../checkout/sessions.sql.ts'
import type { Asset, Fiat } from '../../core/assets.ts'
import { conflict, invalidField, invariant, notFound, type Refusal, unavailable } from '../../core/errors.ts'
import { type AccountId, type PaymentId, type PaymentLinkId, type SessionId, showId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { listDeposits } from '../../deposits/deposits.sql.ts'
import { upsertCustomer } from '../../payments/customers.sql.ts'
import { hasFunds } from '../../payments/decide.ts'
import type { Payment } from '../../payments/payment.ts'
import { findPayment } from '../../payments/payments.sql.ts'
import type { Gateway } from '../gateway.ts'
import { createPayment } from '../payments/create-payment.ts'
import { requireFiatAmount } from '../payments/fiat-amount.ts'
import { giveUpPending } from './return-to-payment.ts'

export interface SessionRequest
  extends Pick<
    CheckoutSession,
    'amountMinor' | 'label' | 'reference' | 'customerEmail' | 'successUrl' | 'cancelUrl' | 'offeredAssets'
  > {
  /** Null: the account's settlement currency. */
  readonly currency: Fiat | null
}

/**
 * Makes a session for a merchant's server, and the customer of its email.
 *
 * @throws {Refusal} `invalid` for a redirect that is not an http(s) URL, and for coins none of which the account offers; `unprocessable` for a price that this gateway
 *   does not take; `forbidden`, `account_closed`.
 */
export async function createSession(
  gateway: Pick<Gateway, 'settings'>,
  tx: Tx,
  account: Account,
  request: SessionRequest,
): Promise<CheckoutSession> {
  const currency = request.currency ?? account.currency
  if (request.amountMinor !== null) {
    requireFiatAmount(gateway.settings, { fiatMinor: request.amountMinor, currency }, 'amount')
  }
  const redirect = (field: string, url: string | null) => (url === null ? null : parseRedirectUrl(field, url))
  if (offeredBy(account.offeredAssets, request.offeredAssets).length === 0)
    throw invalidField(
      'coins',
      'coins_not_offered',
      `the account offers none of these coins; it offers ${offeredBy(account.offeredAssets).join(', ')}`,
    )
  const draft = {
    ...request,
    accountId: account.id,
    currency,
    successUrl: redirect('success_url', request.successUrl),
    cancelUrl: redirect('cancel_url', request.cancelUrl),
  }
  await requireOpenAccount(tx, account.id)
  if (request.customerEmail !== null) await upsertCustomer(tx, account.id, request.customerEmail)
  return insertSession(tx, draft)
}

/**
 * A visit to a payment link: counts a use and starts a session.
 *
 * @param earlier - The session that the same visitor began by this link: while it is open he is led back to it.
 *
 * @throws {Refusal} `not_found`, `payment_link_not_found`; `conflict`, `payment_link_disabled`; `forbidden`, `account_closed`.
 */
export async function openPaymentLink(
  tx: Tx,
  id: PaymentLinkId,
  earlier: SessionId | null = null,
): Promise<CheckoutSession> {
  const link = await findLinkForVisitor(tx, id)
  if (!link) throw notFound('payment_link_not_found', 'there is no such payment link')
  await requireOpenAccount(tx, link.accountId)
  if (!(await countPaymentLinkUse(tx, link))) throw linkDisabled()
  const begun = earlier && (await readCheckout(tx, earlier))
  if (begun?.session.paymentLinkId === link.id && begun.status === 'open') return begun.session
  const { accountId, amountMinor, currency, label } = link
  return insertSession(tx, { accountId, amountMinor, currency, label, paymentLinkId: link.id })
}

export interface Checkout {
  readonly account: Account
  readonly session: CheckoutSession
  readonly status: SessionStatus
  /** Of the coin picked last; null while none was. */
  readonly payment: Payment | null
  /** Where to send the buyer: the session's own, else the account's, else nowhere. */
  readonly successUrl: string | null
  readonly cancelUrl: string | null
  /** The database's clock: what countdowns run on. */
  readonly now: Date
}

/** All that the hosted page is drawn from; null when there is no such session. For a buyer, who brings the id alone. */
export async function readCheckout(db: Queryable, id: SessionId): Promise<Checkout | null> {
  const found = await findSessionForBuyer(db, id)
  return found && complete(db, found)
}

/** The same for its merchant; null when it is another account's. */
export async function readCheckoutOf(
  db: Queryable,
  accountId: AccountId,
  id: SessionId,
): Promise<Checkout | null> {
  const found = await findSession(db, accountId, id)
  return found && complete(db, found)
}

async function complete(db: Queryable, { session, now }: SessionNow): Promise<Checkout> {
  const account = await findAccount(db, session.accountId)
  invariant(account, `session ${showId('cs', session.id)} belongs to no account`)
  const payment = session.paymentId && (await findPayment(db, session.accountId, session.paymentId))
  return {
    account,
    session,
    status: sessionStatus(session, payment?.status ?? null, now),
    payment,
    successUrl: session.successUrl ?? account.successUrl,
    cancelUrl: session.cancelUrl ?? account.cancelUrl,
    now,
  }
}

export interface CoinChoice {
  readonly asset: Asset
  /** What the buyer typed, where the session leaves the amount open; null to keep what he typed before. */
  readonly amountMinor: bigint | null
  /** What the buyer typed, where the session has no email of its own. */
  readonly email: string | null
}

/**
 * The buyer picks a coin, changes it, or asks for a new quote. Picking what is already quoted changes nothing, so a
 * form sent twice makes one payment.
 *
 * @returns The session's payment, `pending`.
 * @throws {Refusal} `not_found`, `session_not_found`; `conflict`: `session_ended`, `payment_in_progress` once funds were
 *   seen, late ones too, `payment_link_disabled`; `invalid`, `amount_required`; and all that creating a payment refuses.
 */
export async function pickCoin(
  gateway: Gateway,
  tx: Tx,
  id: SessionId,
  choice: CoinChoice,
): Promise<Payment> {
  const { account, session, payment, now } = await lockOpenCheckout(tx, id)
  const request = {
    asset: choice.asset,
    fiatMinor: amountOf(session, payment, choice),
    fiatCurrency: session.currency,
    reference: session.reference,
    customerEmail: session.customerEmail ?? choice.email ?? payment?.customerEmail ?? null,
    metadata: null,
    checkoutSessionId: session.id,
  }
  const { fiatMinor, fiatCurrency: currency } = request
  requireFiatAmount(gateway.settings, { fiatMinor, currency }, 'amount')
  if (!offeredBy(account.offeredAssets, session.offeredAssets).includes(choice.asset))
    throw unavailable('coin_not_offered', `${choice.asset} is not offered here; pick another coin`)
  if (payment && isSameQuote(payment, request) && payment.expiresAt > now) return payment
  await requireActiveLink(tx, session)
  await leavePayment(tx, session, payment)
  const made = await createPayment(gateway, tx, account, request)
  await setSessionPayment(tx, session, made.id)
  return made
}

/**
 * The buyer gives up. His pending payment is cancelled, its address stays watched.
 *
 * @throws {Refusal} `not_found`, `session_not_found`; `conflict`: `session_ended`, `payment_in_progress`.
 */
export async function cancelCheckout(tx: Tx, id: SessionId): Promise<void> {
  const { session, payment } = await lockOpenCheckout(tx, id)
  await leavePayment(tx, session, payment)
  await markSessionCancelled(tx, session, true)
}

/**
 * The buyer thinks again, within the session's day: he may pick a coin as before. What he paid meanwhile stays held.
 *
 * @throws {Refusal} `not_found`, `session_not_found`; `conflict`, `session_ended`, when it was not given up or is over.
 */
export async function reopenCheckout(tx: Tx, id: SessionId): Promise<void> {
  const found = await lockSession(tx, id)
  if (!found) throw sessionNotFound()
  const { session, now } = found
  if (!session.cancelledAt || now >= session.expiresAt)
    throw conflict('session_ended', 'this checkout cannot go on; start a new one')
  await markSessionCancelled(tx, session, false)
}

/**
 * The buyer's wallet sent a transaction for the payment: from now on nothing more is asked of him. What the chain shows
 * decides, as ever; nobody but himself can be misled by what he says here.
 *
 * @param payment - What the wallet was asked for. When the session is at another one by now, nothing is kept: the coins
 *   show by themselves.
 * @throws {Refusal} `not_found`, `session_not_found`; `conflict`, `session_ended`.
 */
export async function keepSentTransaction(
  tx: Tx,
  id: SessionId,
  payment: PaymentId,
  txHash: string,
): Promise<void> {
  const checkout = await lockOpenCheckout(tx, id)
  if (checkout.payment?.id === payment && isUnpaid(checkout.payment))
    await setSentTransaction(tx, checkout.session, txHash)
}

/** The buyer says that it will not come: he is asked again. @throws {Refusal} as {@link keepSentTransaction}. */
export async function dropSentTransaction(tx: Tx, id: SessionId): Promise<void> {
  const { session } = await lockOpenCheckout(tx, id)
  await setSentTransaction(tx, session, null)
}

const isUnpaid = ({ status }: Payment): boolean => status === 'pending' || status === 'expired'

async function lockOpenCheckout(tx: Tx, id: SessionId): Promise<Checkout> {
  const found = await lockSession(tx, id)
  if (!found) throw sessionNotFound()
  const checkout = await complete(tx, found)
  if (checkout.status !== 'open') {
    throw conflict('session_ended', `this checkout is ${checkout.status}; start a new one`)
  }
  return checkout
}

function amountOf(session: CheckoutSession, payment: Payment | null, choice: CoinChoice): bigint {
  const amount = session.amountMinor ?? choice.amountMinor ?? payment?.fiatMinor
  if (amount !== undefined) return amount
  throw invalidField(
    'amount',
    'amount_required',
    'this checkout has no price of its own: an amount is needed',
  )
}

const isSameQuote = (
  payment: Payment,
  request: Pick<Payment, 'asset' | 'fiatMinor' | 'customerEmail'>,
): boolean =>
  payment.status === 'pending' &&
  payment.asset === request.asset &&
  payment.fiatMinor === request.fiatMinor &&
  payment.customerEmail === request.customerEmail

/**
 * Nothing that was seen is ever left: a payment with funds goes its own way to the end. One that ended with funds that
 * came late is not left either: whoever paid would be asked to pay again, and not be told of what he paid.
 */
async function leavePayment(tx: Tx, session: CheckoutSession, payment: Payment | null): Promise<void> {
  if (!payment) return
  if (isUnpaid(payment) && (await isOnItsWay(tx, session, payment))) throw paymentInProgress()
  switch (payment.status) {
    case 'pending':
      break
    case 'expired':
    case 'failed':
    case 'cancelled':
      if (hasFunds(payment, await listDeposits(tx, payment.accountId, payment.id))) throw paymentInProgress()
      return
    // Not locked in vain: who accepts one waits for the session (return-to-payment.ts).
    default:
      throw paymentInProgress()
  }
  if (!(await giveUpPending(tx, payment))) throw paymentInProgress()
}

/** Whether the buyer's wallet sent something that was not replaced. */
async function isOnItsWay(tx: Tx, { sentTx }: CheckoutSession, payment: Payment): Promise<boolean> {
  if (sentTx === null) return false
  const deposits = await listDeposits(tx, payment.accountId, payment.id)
  return !deposits.some(({ txHash, status }) => txHash === sentTx && status === 'replaced')
}

async function requireActiveLink(tx: Tx, session: CheckoutSession): Promise<void> {
  if (session.paymentLinkId === null) return
  const link = await findPaymentLink(tx, session.accountId, session.paymentLinkId)
  if (!link?.isActive) throw linkDisabled()
}

const paymentInProgress = (): Refusal =>
  conflict(
    'payment_in_progress',
    'funds were already seen for this checkout; its page says what becomes of them',
  )

const linkDisabled = (): Refusal =>
  conflict('payment_link_disabled', 'this payment link is disabled; ask the merchant for another')
