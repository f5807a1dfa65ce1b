/**
 * The postings of a payment's life. A confirmed deposit is held as `unresolved`; settling moves the quote's share
 * from there to the merchant and the gateway's fee; a reorganisation posts the opposite. A reversal that finds the coins
 * gone books the rest to `loss`, and the next settlement pays that back first.
 */
import type { Asset } from '../../core/assets.ts'
import { invariant } from '../../core/errors.ts'
import { showId, type WithdrawalId } from '../../core/ids.ts'
import { smaller } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import type { Deposit } from '../../deposits/deposit.ts'
import { listDeposits, markBooked } from '../../deposits/deposits.sql.ts'
import { type Cause, sayCause, type Transfer } from '../../ledger/chart-of-accounts.ts'
import { lockBalance, post, sumLoss } from '../../ledger/post.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import { addUnresolved, lockUnresolved, takeUnresolved } from '../../payments/unresolved-funds.sql.ts'
import { listRefundIds } from '../../withdrawals/refunds.sql.ts'

/**
 * The coins are ours: wallet to held. What was given out of coins that the chain took back since is paid back first:
 * nobody has these a second time.
 *
 * @param deposits - All of the payment.
 */
export async function bookDeposit(tx: Tx, deposit: Deposit, deposits: readonly Deposit[]): Promise<void> {
  const { accountId, paymentId, chain, asset, amountAtoms } = deposit
  const owed = await outstandingLoss(tx, deposit, deposits)
  const recovered = smaller(owed, amountAtoms)
  await postOnce(tx, deposit, causeOf('deposit', deposit.id, deposit.bookings + 1), chain, [
    { asset, debit: 'wallet', credit: 'unresolved', atoms: amountAtoms - recovered },
    { asset, debit: 'wallet', credit: 'loss', atoms: recovered },
  ])
  await addUnresolved(tx, { accountId, paymentId, asset }, amountAtoms - recovered)
  await markBooked(tx, deposit, true)
}

/**
 * A refund that gives its hold back while the coins it was to pay with are gone: what was booked to `loss` for them is
 * undone, for nothing was paid. Under the payment's lock, when the hold is among the held funds again.
 */
export async function returnLoss(
  tx: Tx,
  payment: Pick<Payment, 'accountId' | 'id' | 'chain'>,
  refund: WithdrawalId,
  { asset, atoms }: { readonly asset: Asset; readonly atoms: bigint },
): Promise<void> {
  const { accountId, id: paymentId, chain } = payment
  const deposits = await listDeposits(tx, accountId, paymentId)
  const owed = await outstandingLoss(tx, { accountId, paymentId, asset }, deposits)
  const returned = smaller(owed, atoms)
  if (returned === 0n) return
  await postOnce(tx, payment, causeOf('loss_return', refund, 1), chain, [
    { asset, debit: 'unresolved', credit: 'loss', atoms: returned },
  ])
  await takeUnresolved(tx, { accountId, paymentId, asset }, returned)
}

/** What reversals of a payment's deposits booked to `loss` and nothing has paid back yet. */
async function outstandingLoss(
  tx: Tx,
  { accountId, paymentId, asset }: Pick<Deposit, 'accountId' | 'paymentId' | 'asset'>,
  deposits: readonly Deposit[],
): Promise<bigint> {
  if (deposits.every(({ bookings }) => bookings === 0)) return 0n
  const subjects = [...deposits.map(({ id }) => id), ...(await listRefundIds(tx, accountId, paymentId))]
  return sumLoss(tx, accountId, asset, ['deposit', 'deposit_reversal', 'loss_return'], subjects)
}

/**
 * The chain took the coins back.
 *
 * @returns Atoms that were held no more (accepted or refunded before) and are the gateway's loss.
 */
export async function reverseDeposit(tx: Tx, deposit: Deposit): Promise<bigint> {
  const { accountId, paymentId, chain, asset, amountAtoms } = deposit
  const held =
    (await lockUnresolved(tx, accountId, paymentId)).find((row) => row.asset === asset)?.atoms ?? 0n
  const taken = smaller(held, amountAtoms)
  const shortfall = amountAtoms - taken
  await postOnce(tx, deposit, causeOf('deposit_reversal', deposit.id, deposit.bookings), chain, [
    { asset, debit: 'unresolved', credit: 'wallet', atoms: taken },
    { asset, debit: 'loss', credit: 'wallet', atoms: shortfall },
  ])
  await takeUnresolved(tx, { accountId, paymentId, asset }, taken)
  return shortfall
}

/**
 * Held funds become the merchant's net and the gateway's fee.
 *
 * @param kind - `settlement` at the quote, `acceptance` when support accepts.
 * @returns Atoms of the net that pay back an earlier shortfall instead of reaching the merchant a second time.
 */
export async function creditFunds(
  tx: Tx,
  payment: Payment,
  kind: 'settlement' | 'acceptance',
  credits: readonly { asset: Asset; netAtoms: bigint; feeAtoms: bigint }[],
): Promise<bigint> {
  const { accountId, id: paymentId, chain, settlements } = payment
  const net = credits.find(({ asset }) => asset === payment.asset)?.netAtoms ?? 0n
  const recovered = smaller(payment.shortfallAtoms, net)
  const transfers = credits.flatMap(({ asset, netAtoms, feeAtoms }): Transfer[] => {
    const loss = asset === payment.asset ? recovered : 0n
    return [
      { asset, debit: 'unresolved', credit: 'available', atoms: netAtoms - loss },
      { asset, debit: 'unresolved', credit: 'loss', atoms: loss },
      { asset, debit: 'unresolved', credit: 'fees', atoms: feeAtoms },
    ]
  })
  await postOnce(tx, payment, causeOf(kind, paymentId, settlements + 1), chain, transfers)
  for (const { asset, netAtoms, feeAtoms } of credits)
    await takeUnresolved(tx, { accountId, paymentId, asset }, netAtoms + feeAtoms)
  return recovered
}

/**
 * Takes the present settlement back into the held funds.
 *
 * @returns Atoms the merchant has withdrawn meanwhile: the gateway's loss until the payment settles again.
 */
export async function reverseSettlement(tx: Tx, payment: Payment): Promise<bigint> {
  const { accountId, asset, chain, creditedAtoms, gatewayFeeAtoms, recoveredAtoms } = payment
  invariant(
    creditedAtoms !== null && gatewayFeeAtoms !== null,
    `payment ${showId('pay', payment.id)} has no settlement to reverse`,
  )
  const credited = creditedAtoms - recoveredAtoms
  const available = await lockBalance(tx, { accountId, asset, kind: 'available' })
  const taken = smaller(available, credited)
  const shortfall = credited - taken
  await postOnce(tx, payment, causeOf('settlement_reversal', payment.id, payment.settlements), chain, [
    { asset, debit: 'available', credit: 'unresolved', atoms: taken },
    { asset, debit: 'loss', credit: 'unresolved', atoms: shortfall + recoveredAtoms },
    { asset, debit: 'fees', credit: 'unresolved', atoms: gatewayFeeAtoms },
  ])
  await addUnresolved(tx, { accountId, paymentId: payment.id, asset }, creditedAtoms + gatewayFeeAtoms)
  return shortfall
}

const causeOf = (kind: Cause['kind'], subjectId: string, number: number): Cause => ({
  kind,
  subjectId,
  number,
})

/** The payment's lock and its counters make each cause new; meeting one again means that they and the journal part. */
async function postOnce(
  tx: Tx,
  of: Pick<Payment, 'accountId'>,
  cause: Cause,
  chain: Payment['chain'],
  transfers: readonly Transfer[],
): Promise<void> {
  const booked = await post(tx, { accountId: of.accountId, chain, cause, transfers })
  invariant(booked, () => `${sayCause(cause)} was booked before`)
}
