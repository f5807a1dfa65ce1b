/**
 * Support decides about funds that a payment holds: accepted ones are credited less the fee on their share. What
 * came within the window counts at the quote, what came late or in another coin at the rate of acceptance.
 */
import type { Account } from '../../accounts/account.ts'
import { conflict, Refusal } from '../../core/errors.ts'
import type { PaymentId } from '../../core/ids.ts'
import { divideDown, divideHalfUp, notBelowZero, smaller } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import type { Deposit } from '../../deposits/deposit.ts'
import { listDeposits } from '../../deposits/deposits.sql.ts'
import { announce } from '../../events/announce.sql.ts'
import { adjustCustomer } from '../../payments/customers.sql.ts'
import { type Accepted, type Payment, paymentNotFound, waitsForFunds } from '../../payments/payment.ts'
import { lockPayment, recordAccepted, updatePayment } from '../../payments/payments.sql.ts'
import { requireAuthenticTerms } from '../../payments/terms.ts'
import { lockUnresolved } from '../../payments/unresolved-funds.sql.ts'
import { convertFiat, feeMinor, fiatValue, splitCredit } from '../../rates/quote.ts'
import { readRefunds } from '../../withdrawals/refunds.sql.ts'
import { followPaid } from '../checkout/return-to-payment.ts'
import { readDatabaseTime } from '../database-time.sql.ts'
import type { Gateway } from '../gateway.ts'
import { creditFunds } from './book-payment.ts'
import { ratesOf } from './rates-of.ts'
import { drawPayment } from './read-payment.ts'

/**
 * Credits everything held for a payment to the merchant and completes it.
 *
 * @throws {Refusal} `not_found`; `conflict` when nothing is held or the payment still runs; `unavailable` without a rate
 *   for late funds.
 */
export async function acceptPayment(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  id: PaymentId,
): Promise<Payment> {
  const payment = await lockPayment(tx, account.id, id)
  if (!payment) throw paymentNotFound()
  requireAuthenticTerms(gateway.secrets, payment)
  if (waitsForFunds(payment.status)) {
    throw conflict(
      'payment_in_progress',
      `the payment is ${payment.status}; accept it once its deposits are confirmed`,
    )
  }
  return accept(gateway, tx, account, payment)
}

/** The account accepts late funds by itself; without a rate they wait for support. */
export async function acceptLateFunds(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  payment: Payment,
): Promise<Payment> {
  try {
    return await accept(gateway, tx, account, payment)
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'unavailable') return payment
    throw error
  }
}

async function accept(gateway: Gateway, tx: Tx, account: Account, payment: Payment): Promise<Payment> {
  const unresolved = await lockUnresolved(tx, account.id, payment.id)
  if (unresolved.length === 0) {
    throw conflict(
      'nothing_to_accept',
      `nothing is held for this payment: it is ${payment.status} and all it received was credited or refunded`,
    )
  }
  const deposits = await listDeposits(tx, account.id, payment.id)
  const inTime = atomsAtQuote(payment, deposits, (await readRefunds(tx, payment)).refundedAtoms)
  // A rate that is missing refuses before anything is posted.
  const shares = unresolved.map((funds) => share(gateway, account, payment, inTime, funds))
  const settlements = payment.settlements + 1
  const recovered = await creditFunds(tx, payment, 'acceptance', shares)

  const settledBefore = payment.creditedAtoms !== null
  const sum = (pick: (accepted: Share) => bigint): bigint =>
    shares.reduce((total, accepted) => total + pick(accepted), 0n)
  const own = shares.find((accepted) => accepted.asset === payment.asset)
  const netMinor =
    (settledBefore ? payment.netMinor : 0n) + sum((accepted) => accepted.grossMinor - accepted.feeMinor)
  const spentMinor = convertFiat(netMinor, payment.settlementRate)
  await followCustomer(tx, payment, spentMinor)
  const accepted: Accepted = {
    netAtoms: (payment.creditedAtoms ?? 0n) + (own?.netAtoms ?? 0n),
    feeAtoms: (payment.gatewayFeeAtoms ?? 0n) + (own?.feeAtoms ?? 0n),
    netMinor,
    feeMinor: (settledBefore ? payment.feeMinor : 0n) + sum(({ feeMinor }) => feeMinor),
  }
  const completed: Payment = {
    ...payment,
    status: 'completed',
    settlements,
    netMinor,
    feeMinor: accepted.feeMinor,
    creditedAtoms: accepted.netAtoms,
    gatewayFeeAtoms: accepted.feeAtoms,
    accepted,
    shortfallAtoms: payment.shortfallAtoms - recovered,
    recoveredAtoms: payment.recoveredAtoms + recovered,
    spentMinor,
    // What came after the payment had ended was seen, too.
    detectedAt: payment.detectedAt ?? deposits[0]?.seenAt ?? null,
    completedAt: payment.completedAt ?? (await readDatabaseTime(tx)),
  }
  await updatePayment(tx, completed)
  await recordAccepted(tx, completed, accepted)
  await followPaid(tx, completed)
  // Once for a payment, whether or not the event of its first settlement is still kept.
  if (payment.settlements === 0)
    await announce(tx, {
      accountId: account.id,
      type: 'payment.completed',
      cause: `payment:${payment.id}:completed`,
      data: await drawPayment(gateway, tx, completed),
    })
  return completed
}

/** The customer's order counts with all that was credited for it: what it counted before is taken back first. */
async function followCustomer(tx: Tx, payment: Payment, spentMinor: bigint): Promise<void> {
  const { accountId, customerId } = payment
  if (customerId === null) return
  if (payment.creditedAtoms !== null)
    await adjustCustomer(tx, { accountId, customerId, orders: -1, spentMinor: -(payment.spentMinor ?? 0n) })
  await adjustCustomer(tx, { accountId, customerId, orders: 1, spentMinor })
}

/**
 * What the quote's rate still holds for: what came within the window, less what was credited or refunded already. A
 * refund takes these coins first, so that late ones never get a rate that was over. A payment that was given up has none.
 */
function atomsAtQuote(payment: Payment, deposits: readonly Deposit[], refundedAtoms: bigint): bigint {
  if (payment.status !== 'underpaid' && payment.status !== 'overpaid') return 0n
  const inTime = deposits.filter(({ asset, booked, late }) => asset === payment.asset && booked && !late)
  const credited = (payment.creditedAtoms ?? 0n) + (payment.gatewayFeeAtoms ?? 0n)
  const left = inTime.reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n) - credited - refundedAtoms
  return notBelowZero(left)
}

interface Share {
  readonly asset: Payment['asset']
  readonly netAtoms: bigint
  readonly feeAtoms: bigint
  readonly grossMinor: bigint
  readonly feeMinor: bigint
}

/** What held funds are worth, part of them at the quote and the rest at the rate of now, and how the fee divides them. */
function share(
  gateway: Gateway,
  account: Account,
  payment: Payment,
  inTime: bigint,
  { asset, atoms }: { asset: Payment['asset']; atoms: bigint },
): Share {
  const own = asset === payment.asset ? inTime : 0n
  const quoted = smaller(own, atoms)
  const parts: Worth[] = []
  if (quoted > 0n) parts.push(worthAtQuote(payment, quoted))
  if (quoted < atoms) parts.push(worthNow(gateway, account, payment, asset, atoms - quoted))
  const sum = (pick: (part: Worth) => bigint): bigint => parts.reduce((total, part) => total + pick(part), 0n)
  const netAtoms = sum(netOf)
  return {
    asset,
    netAtoms,
    feeAtoms: atoms - netAtoms,
    grossMinor: sum((part) => part.grossMinor),
    feeMinor: sum((part) => part.feeMinor),
  }
}

interface Worth {
  readonly atoms: bigint
  /** Rounded down. */
  readonly grossMinor: bigint
  readonly feeMinor: bigint
}

function worthAtQuote(payment: Payment, atoms: bigint): Worth {
  const grossMinor = divideDown(atoms * payment.fiatMinor, payment.dueAtoms)
  return {
    atoms,
    grossMinor,
    feeMinor: divideHalfUp(grossMinor * payment.quotedFeeMinor, payment.fiatMinor),
  }
}

function worthNow(
  gateway: Gateway,
  account: Account,
  payment: Payment,
  asset: Payment['asset'],
  atoms: bigint,
): Worth {
  const { ratio } = ratesOf(gateway, account).rate(asset, payment.fiatCurrency)
  const grossMinor = fiatValue(atoms, asset, ratio)
  return { atoms, grossMinor, feeMinor: feeMinor(grossMinor, payment.feeBps) }
}

/** The fee takes the fraction of an atom; coins worth less than a cent pay none. */
const netOf = ({ atoms, grossMinor, feeMinor: fee }: Worth): bigint =>
  grossMinor === 0n ? atoms : splitCredit(atoms, grossMinor, grossMinor - fee).netAtoms
