/**
 * What the chain showed becomes what the merchant has. Under the payment's lock, in one transaction: deposits that
 * reached their confirmations are booked, the payment takes every step that `decide` names, and what a
 * reorganisation took is given back; postings, event and deliveries with it.
 */
import { findAccount } from '../../accounts/accounts.sql.ts'
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import { type ChainProgress, findChainProgress } from '../../chains/chain-progress.sql.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { invariant } from '../../core/errors.ts'
import { type AccountId, type PaymentId, showId } from '../../core/ids.ts'
import { divideHalfUp, formatCoins } from '../../core/money.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Tx } from '../../db/database.ts'
import { sharedRead } from '../../db/together.ts'
import type { Deposit } from '../../deposits/deposit.ts'
import { requireAuthenticDeposit } from '../../deposits/deposit-mac.ts'
import { listDeposits, markBooked, markConfirmed } from '../../deposits/deposits.sql.ts'
import { paysFor } from '../../deposits/received.ts'
import { announce } from '../../events/announce.sql.ts'
import type { EventType } from '../../events/event.ts'
import { adjustCustomer } from '../../payments/customers.sql.ts'
import { type ChainMoment, decide, type Step } from '../../payments/decide.ts'
import { acceptedAtoms, type Payment, type PaymentStatus, waitsForFunds } from '../../payments/payment.ts'
import { paymentResource } from '../../payments/payment-resource.ts'
import { lockPayment, updatePayment } from '../../payments/payments.sql.ts'
import { requireAuthenticTerms } from '../../payments/terms.ts'
import { convertFiat, splitCredit } from '../../rates/quote.ts'
import { readRefunds } from '../../withdrawals/refunds.sql.ts'
import { returnToPayment } from '../checkout/return-to-payment.ts'
import { readDatabaseTime } from '../database-time.sql.ts'
import type { Gateway } from '../gateway.ts'
import { bookDeposit, creditFunds, reverseDeposit, reverseSettlement } from './book-payment.ts'
import { chainFactsOf } from './read-payment.ts'
import { acceptLateFunds } from './resolve-payment.ts'
import type { Settled } from './tell-of-payments.ts'
import { mayHaveEtherUnseen } from './windows-over.sql.ts'

/** More steps than any story of one payment takes at once. */
const STEPS_MAX = 8

/**
 * Looks at a payment once more, and takes it off the settle queue. Running it again changes nothing.
 *
 * @returns The payment as it was and is now.
 */
export async function settlePayment(
  gateway: Gateway,
  tx: Tx,
  accountId: AccountId,
  paymentId: PaymentId,
): Promise<Settled> {
  const found = await lockPayment(tx, accountId, paymentId)
  invariant(found, () => `payment ${showId('pay', paymentId)} is gone while it is claimed`)
  let payment = found
  requireAuthenticTerms(gateway.secrets, payment)
  const { chain: name } = payment
  const chain = await readProgress(tx, name)
  const moment = await readMoment(tx, payment, chain)
  const from = chainFactsOf(gateway.settings, name, chain)
  const { tipHeight } = from

  const before = payment.status
  let booked: string | null = null
  const deposits = await confirmDeposits(tx, await listDeposits(tx, accountId, paymentId), tipHeight)
  for (const deposit of deposits) {
    if (!isToBook(deposit)) continue
    booked = deposit.id
    requireAuthenticDeposit(gateway.secrets, deposit, payment.address)
    await bookDeposit(tx, deposit, deposits)
    crashPoint('settle:booked')
  }

  const refunds = await readRefunds(tx, payment)
  const { refundedAtoms } = refunds
  for (let count = 0; ; count++) {
    const settledAtoms =
      payment.creditedAtoms === null ? null : payment.creditedAtoms + (payment.gatewayFeeAtoms ?? 0n)
    const isOfCheckout = payment.checkoutSessionId !== null
    const facts = { settledAtoms, acceptedAtoms: acceptedAtoms(payment), refundedAtoms, isOfCheckout }
    const step = decide({ ...payment, ...facts }, deposits, moment)
    if (!step) break
    // What another coin of the checkout pays already is held.
    if (step.because === 'left_and_paid' && !(await returnToPayment(tx, payment))) break
    invariant(
      count < STEPS_MAX,
      () => `payment ${showId('pay', paymentId)} steps in a circle: ${payment.status} to ${step.to}`,
    )
    payment = await take(tx, payment, step, deposits)
    crashPoint(`settle:${step.to}`)
    const event = eventOf(payment, step)
    if (event) {
      await announce(tx, {
        accountId,
        type: event,
        cause: causeOf(payment, event),
        data: paymentResource(payment, deposits, from, { refundedAtoms }),
      })
    }
  }

  for (const deposit of deposits) {
    if (deposit.booked && deposit.status !== 'confirmed') payment = await unbook(tx, payment, deposit)
  }
  await updatePayment(tx, payment, 'decided')
  crashPoint(`settle:${payment.status}-written`)
  if (payment.status === 'expired' && !refunds.wereAsked)
    payment = await maybeAcceptLate(gateway, tx, payment, { before, deposits })
  return { before, payment, booked }
}

async function readMoment(tx: Tx, payment: Payment, chain: ChainProgress | null): Promise<ChainMoment> {
  const now = await readTime(tx)
  const mayEnd = waitsForFunds(payment.status) && now > payment.expiresAt
  const isUnseen = mayEnd && (await mayHaveEtherUnseen(tx, payment))
  return { now, polledAt: isUnseen ? null : (chain?.polledAt ?? null) }
}

const readTime = sharedRead(readDatabaseTime)
const readProgress = sharedRead(findChainProgress)

/** A deposit counts for good once its confirmations are there, until its block is taken away. Its booking, where one follows, says it. */
async function confirmDeposits(tx: Tx, deposits: readonly Deposit[], tipHeight: number): Promise<Deposit[]> {
  const confirmed: Deposit[] = []
  for (const deposit of deposits) {
    const reached =
      deposit.status === 'seen' &&
      deposit.blockHeight !== null &&
      tipHeight - deposit.blockHeight + 1 >= deposit.requiredConfirmations
    const now: Deposit = reached ? { ...deposit, status: 'confirmed' } : deposit
    if (reached && !isToBook(now)) await markConfirmed(tx, now)
    confirmed.push(now)
  }
  return confirmed
}

const isToBook = (deposit: Deposit): boolean =>
  deposit.status === 'confirmed' && !deposit.dust && !deposit.booked

/** Applies one step: its postings, its times, its customer; what it returns is written at the end. */
async function take(tx: Tx, payment: Payment, step: Step, deposits: readonly Deposit[]): Promise<Payment> {
  switch (step.to) {
    case 'detected':
      if (step.because === 'funds_seen' || step.because === 'left_and_paid')
        return { ...payment, status: 'detected', detectedAt: step.detectedAt }
      if (step.because === 'settlement_lost') return { ...(await unsettle(tx, payment)), status: 'detected' }
      return { ...payment, status: 'detected' }
    case 'pending':
      return { ...payment, status: 'pending', detectedAt: null }
    case 'completed':
    case 'overpaid':
      if (step.because !== 'covered') return { ...payment, status: step.to }
      return { ...(await settle(tx, payment, step.settledAtoms, deposits)), status: step.to }
    case 'underpaid':
    case 'expired':
    case 'failed':
      return { ...payment, status: step.to }
  }
}

/**
 * Credits what was settled from the funds held for the payment: its net to the merchant, its fee to the gateway, in the
 * proportion of the quote. Where less than was due counts as paid, both are less: together they are what came, half up to the cent. What was accepted
 * before a reorganisation took it is credited as it was then.
 */
async function settle(
  tx: Tx,
  payment: Payment,
  settledAtoms: bigint,
  deposits: readonly Deposit[],
): Promise<Payment> {
  const grossMinor = divideHalfUp(payment.fiatMinor * settledAtoms, payment.dueAtoms)
  const grossFeeMinor = divideHalfUp(payment.feeMinor * grossMinor, payment.fiatMinor)
  const { netAtoms, feeAtoms, netMinor, feeMinor } =
    payment.accepted && settledAtoms === acceptedAtoms(payment)
      ? payment.accepted
      : {
          ...splitCredit(settledAtoms, payment.fiatMinor, payment.netMinor),
          netMinor: grossMinor - grossFeeMinor,
          feeMinor: grossFeeMinor,
        }
  const spentMinor = convertFiat(netMinor, payment.settlementRate)
  const settlements = payment.settlements + 1
  const credit = { asset: payment.asset, netAtoms, feeAtoms }
  const recoveredAtoms = await creditFunds(tx, payment, 'settlement', [credit])
  await countOrder(tx, payment, 1, spentMinor)
  return {
    ...payment,
    settlements,
    netMinor,
    feeMinor,
    creditedAtoms: netAtoms,
    gatewayFeeAtoms: feeAtoms,
    shortfallAtoms: payment.shortfallAtoms - recoveredAtoms,
    recoveredAtoms,
    spentMinor,
    detectedAt: payment.detectedAt ?? deposits[0]?.seenAt ?? null,
    completedAt: await readTime(tx),
  }
}

/** Takes a settlement back; what the merchant has withdrawn already is the gateway's loss, and the operator hears of it. */
async function unsettle(tx: Tx, payment: Payment): Promise<Payment> {
  const shortfall = await reverseSettlement(tx, payment)
  await countOrder(tx, payment, -1, payment.spentMinor ?? 0n)
  const shown = showId('pay', payment.id)
  await raiseAlert(tx, {
    kind: shortfall > 0n ? 'settlement_reversed_with_loss' : 'settlement_reversed',
    accountId: payment.accountId,
    subject: `payment:${shown}:settle:${payment.settlements}`,
    message:
      `a reorganisation took the block that settled payment ${shown}` +
      (shortfall > 0n
        ? `; ${formatCoins(shortfall, payment.asset)} were withdrawn already and are booked to loss`
        : ''),
  })
  return {
    ...payment,
    feeMinor: payment.quotedFeeMinor,
    netMinor: payment.fiatMinor - payment.quotedFeeMinor,
    creditedAtoms: null,
    gatewayFeeAtoms: null,
    shortfallAtoms: payment.shortfallAtoms + payment.recoveredAtoms + shortfall,
    recoveredAtoms: 0n,
    spentMinor: null,
    completedAt: null,
  }
}

/** Gives a booked deposit back to the chain that took it. */
async function unbook(tx: Tx, payment: Payment, deposit: Deposit): Promise<Payment> {
  const shortfall = await reverseDeposit(tx, deposit)
  await markBooked(tx, deposit, false)
  if (shortfall === 0n) return payment
  const shown = showId('dep', deposit.id)
  await raiseAlert(tx, {
    kind: 'deposit_lost',
    accountId: payment.accountId,
    subject: `deposit:${shown}:book:${deposit.bookings}`,
    message: `a reorganisation took deposit ${shown}; ${formatCoins(shortfall, deposit.asset)} were paid out already and are booked to loss`,
  })
  return payment
}

async function countOrder(tx: Tx, payment: Payment, orders: 1 | -1, spentMinor: bigint): Promise<void> {
  if (payment.customerId === null) return
  await adjustCustomer(tx, {
    accountId: payment.accountId,
    customerId: payment.customerId,
    orders,
    spentMinor: orders === 1 ? spentMinor : -spentMinor,
  })
}

function eventOf(payment: Payment, step: Step): EventType | null {
  if (step.to === 'detected')
    return step.because === 'funds_seen' || step.because === 'left_and_paid' ? 'payment.confirming' : null
  // Once for a payment, whether or not the event of its first settlement is still kept.
  if (step.because === 'covered') return payment.settlements > 1 ? null : 'payment.completed'
  return payment.status === 'expired' || payment.status === 'failed' ? 'payment.expired' : null
}

/** Failed payments can be accepted, lost and fail once more: the merchant, who was told that it was paid, hears of that, too. */
function causeOf({ id, status, settlements }: Payment, event: EventType): string {
  if (event !== 'payment.expired') return `payment:${id}:${event.slice('payment.'.length)}`
  return `payment:${id}:${status}${settlements > 0 ? `:${settlements}` : ''}`
}

/**
 * Late funds worth the price when they were first seen, within a day of the window's end, where the account wants it so; in the
 * decision that books the last of them, or expires the payment, or never: what waited is support's, and worth something else by now. Nor where a refund was
 * asked for, whatever became of it: support has decided about this payment, and which of the deposits counted here are still held,
 * no row says.
 */
async function maybeAcceptLate(
  gateway: Gateway,
  tx: Tx,
  payment: Payment,
  { before, deposits }: { readonly before: PaymentStatus; readonly deposits: readonly Deposit[] },
): Promise<Payment> {
  const late = deposits.filter(
    (deposit) => deposit.late && deposit.status === 'confirmed' && paysFor(deposit, payment),
  )
  const worth = late.reduce((sum, deposit) => sum + (deposit.sightedMinor ?? 0n), 0n)
  const lastSeen = Math.max(...late.map((deposit) => deposit.seenAt.getTime()))
  // As they were read, before this decision booked them.
  const isNews = before !== 'expired' || late.some(({ booked }) => !booked)
  if (late.length === 0 || !isNews || worth < payment.fiatMinor) return payment
  if (lastSeen > payment.expiresAt.getTime() + DAY_MS) return payment
  const account = await findAccount(tx, payment.accountId)
  if (!account?.acceptsLateFunds) return payment
  return acceptLateFunds(gateway, tx, account, payment)
}
