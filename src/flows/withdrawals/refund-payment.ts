/** What a payment holds on its way back to the buyer: a withdrawal that costs the network fee alone, once a payment. */
import type { Account } from '../../accounts/account.ts'
import { ASSET_FACTS, type Asset, type ChainName } from '../../core/assets.ts'
import { conflict, type Refusal, unprocessable } from '../../core/errors.ts'
import { newId, type PaymentId } from '../../core/ids.ts'
import { formatCoins, formatDecimal } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import { type Payment, paymentNotFound, waitsForFunds } from '../../payments/payment.ts'
import { lockPayment } from '../../payments/payments.sql.ts'
import { refundable } from '../../payments/refundable.ts'
import { requireAuthenticTerms } from '../../payments/terms.ts'
import { type HeldFunds, lockUnresolved, takeUnresolved } from '../../payments/unresolved-funds.sql.ts'
import type { WithdrawalCost } from '../../treasury/fees.ts'
import { findRefund } from '../../withdrawals/refunds.sql.ts'
import type { Withdrawal, WithdrawalRequest } from '../../withdrawals/withdrawal.ts'
import { askForApproval } from '../approvals/ask-for-approval.ts'
import type { Gateway } from '../gateway.ts'
import { readSpendable, requireSpendable, requireThawed } from './payout-funds.ts'
import { price, pricingOf } from './price-withdrawal.ts'
import { hold } from './request-withdrawal.ts'

/**
 * Returns what is held for a payment to an address that the buyer gave; costs the network fee alone. Of its own coin, what is
 * held beyond its shortfall ({@link refundable}).
 *
 * @throws {Refusal} `not_found`; `conflict` while the payment runs, when nothing of what is held may go back, or after a first
 *   refund; otherwise as {@link price}.
 */
export async function refundPayment(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  id: PaymentId,
  order: RefundOrder & Pick<WithdrawalRequest, 'askedBy'>,
): Promise<Withdrawal> {
  const { asset, cost, chain, destination } = await priceRefund(gateway, tx, account, id, order)
  await takeUnresolved(tx, { accountId: account.id, paymentId: id, asset }, cost.amountAtoms)
  const withdrawal = await hold(gateway, tx, {
    ...cost,
    accountId: account.id,
    id: newId('wd'),
    kind: 'refund',
    paymentId: id,
    chain,
    asset,
    destination,
    askedBy: order.askedBy,
  })
  await askForApproval(tx, withdrawal)
  return withdrawal
}

export interface RefundOrder {
  readonly destination: string
  /** A decimal of the coin that goes back; null for all that may. */
  readonly amount: string | null
}

export interface PricedRefund {
  readonly asset: Asset
  readonly cost: WithdrawalCost
  readonly chain: ChainName
  readonly destination: string
}

/**
 * What a refund would be, to the atom; takes nothing. Locks the payment and what it holds.
 *
 * @throws {Refusal} as {@link refundPayment}.
 */
export async function priceRefund(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  id: PaymentId,
  order: RefundOrder,
): Promise<PricedRefund> {
  const payment = await lockPayment(tx, account.id, id)
  if (!payment) throw paymentNotFound()
  requireAuthenticTerms(gateway.secrets, payment)
  if (waitsForFunds(payment.status))
    throw conflict(
      'payment_in_progress',
      `the payment is ${payment.status}; refund it once its deposits are confirmed`,
    )
  if (await findRefund(tx, account.id, id))
    throw conflict('already_refunded', 'this payment has a refund already; see GET /withdrawals')
  const held = await lockUnresolved(tx, account.id, id)
  const funds = refundable(payment, held)
  if (!funds) throw nothingToRefund(payment, held)
  const { asset, atoms } = funds
  const { decimals } = ASSET_FACTS[asset]
  const priced = await price({ ...pricingOf(gateway, account), feeBps: 0n }, tx, account, {
    asset,
    amount: order.amount ?? formatDecimal(atoms, decimals),
    destination: order.destination,
  })
  const { cost, chain, destination } = priced
  await requireThawed(tx, chain, asset)
  const { amountAtoms } = cost
  if (amountAtoms > atoms)
    throw unprocessable(
      'insufficient_balance',
      `${formatCoins(amountAtoms, asset)} was asked for and ${formatCoins(atoms, asset)} ${beyondShortfall(payment, asset)}`,
      [{ field: 'amount', message: `exceeds the ${formatCoins(atoms, asset)} that can be refunded` }],
    )
  await requireSpendable(await readSpendable(tx, priced), cost.netAtoms)
  return { asset, cost, chain, destination: destination.address }
}

function nothingToRefund({ asset, status, shortfallAtoms }: Payment, held: readonly HeldFunds[]): Refusal {
  const [funds] = held
  if (!funds)
    return conflict(
      'nothing_to_refund',
      `nothing is held for this payment: it is ${status} and what it received was credited`,
    )
  return conflict(
    'shortfall_outstanding',
    `${formatCoins(funds.atoms, asset)} is held for this payment and none of it can be refunded: a reorganisation took ${formatCoins(shortfallAtoms, asset)} that was credited for it and withdrawn, and what is held pays that back first; accept it`,
  )
}

const beyondShortfall = (payment: Payment, asset: Asset): string =>
  asset === payment.asset && payment.shortfallAtoms > 0n
    ? `can be refunded: ${formatCoins(payment.shortfallAtoms, asset)} of what is held pays back what a reorganisation took after it was withdrawn`
    : 'is held for this payment'
