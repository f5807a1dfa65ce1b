/**
 * The postings of a payment's life. A confirmed deposit is held as `unresolved`; settling moves the quote's share
 * from there to the merchant and the gateway's fee; a reorganisation posts the opposite. A reversal that finds the coins
 * gone books the rest to `loss`, and the next settlement pays that back first.
 */
import type { Asset } from '../../core/assets.ts'
import { invariant } from '../../core/errors.ts'
import type { WithdrawalId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import type { Deposit } from '../../deposits/deposit.ts'
import { listDeposits, markBooked } from '../../deposits/deposits.sql.ts'
import type { Transfer } from '../../ledger/journal.ts'
import { lockBalance, post, sumLoss } from '../../ledger/post.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import { addUnresolved, lockUnresolved, takeUnresolved } from '../../payments/unresolved-funds.sql.ts'
import { releaseCause } from '../../withdrawals/withdrawal.ts'
import { listRefundIds } from '../../withdrawals/withdrawals.sql.ts'

/**
 * The coins are ours: wallet to held. What was given out of coins that the chain took back since is paid back first:
 * nobody has these a second time.
 *
 * @param deposits - All of the payment.
 */
export async function bookDeposit(tx: Tx, deposit: Deposit, deposits: readonly Deposit[]): Promise<void> {
  const { accountId, paymentId, chain, asset, amountAtoms } = deposit
  const owed = await outstandingLoss(tx, deposit, deposits)
  const recovered = owed < amountAtoms ? owed : amountAtoms
  await postOnce(tx, deposit, `deposit:${deposit.id}:book:${deposit.bookings + 1}`, chain, [
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
  const returned = owed < atoms ? owed : atoms
  if (returned === 0n) return
  await postOnce(tx, payment, lossCause(refund), chain, [
    { asset, debit: 'unresolved', credit: 'loss', atoms: returned },
  ])
  await takeUnresolved(tx, { accountId, paymentId, asset }, returned)
}

const lossCause = (refund: WithdrawalId): string => `${releaseCause(refund)}:loss`

/** What reversals of a payment's deposits booked to `loss` and nothing has paid back yet. */
async function outstandingLoss(
  tx: Tx,
  { accountId, paymentId, asset }: Pick<Deposit, 'accountId' | 'paymentId' | 'asset'>,
  deposits: readonly Deposit[],
): Promise<bigint> {
  if (deposits.every(({ bookings }) => bookings === 0)) return 0n
  // One more than each was booked when it was read: others of this turn may just have paid some of it back.
  const causes = deposits.flatMap(({ id, bookings }) =>
    Array.from({ length: bookings + 1 }, (_, index) => [
      `deposit:${id}:book:${index + 1}`,
      `deposit:${id}:reverse:${index + 1}`,
    ]).flat(),
  )
  const refunds = await listRefundIds(tx, accountId, paymentId)
  return sumLoss(tx, accountId, asset, [...causes, ...refunds.map(lossCause)])
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
  const taken = held < amountAtoms ? held : amountAtoms
  const shortfall = amountAtoms - taken
  await postOnce(tx, deposit, `deposit:${deposit.id}:reverse:${deposit.bookings}`, chain, [
    { asset, debit: 'unresolved', credit: 'wallet', atoms: taken },
    { asset, debit: 'loss', credit: 'wallet', atoms: shortfall },
  ])
  await takeUnresolved(tx, { accountId, paymentId, asset }, taken)
  return shortfall
}

/**
 * Held funds become the merchant's net and the gateway's fee.
 *
 * @param cause - `payment:<id>:settle:<n>` at the quote, `payment:<id>:accept:<n>:<asset>` when support accepts.
 * @returns Atoms of the net that pay back an earlier shortfall instead of reaching the merchant a second time.
 */
export async function creditFunds(
  tx: Tx,
  payment: Payment,
  cause: string,
  credit: { asset: Asset; netAtoms: bigint; feeAtoms: bigint },
): Promise<bigint> {
  const { asset, netAtoms, feeAtoms } = credit
  const owed = asset === payment.asset ? payment.shortfallAtoms : 0n
  const recovered = owed < netAtoms ? owed : netAtoms
  await postOnce(tx, payment, cause, payment.chain, [
    { asset, debit: 'unresolved', credit: 'available', atoms: netAtoms - recovered },
    { asset, debit: 'unresolved', credit: 'loss', atoms: recovered },
    { asset, debit: 'unresolved', credit: 'fees', atoms: feeAtoms },
  ])
  await takeUnresolved(
    tx,
    { accountId: payment.accountId, paymentId: payment.id, asset },
    netAtoms + feeAtoms,
  )
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
    `payment ${payment.id} has no settlement to reverse`,
  )
  const credited = creditedAtoms - recoveredAtoms
  const available = await lockBalance(tx, { accountId, asset, kind: 'available' })
  const taken = available < credited ? available : credited
  const shortfall = credited - taken
  await postOnce(tx, payment, `payment:${payment.id}:reverse:${payment.settlements}`, chain, [
    { asset, debit: 'available', credit: 'unresolved', atoms: taken },
    { asset, debit: 'loss', credit: 'unresolved', atoms: shortfall + recoveredAtoms },
    { asset, debit: 'fees', credit: 'unresolved', atoms: gatewayFeeAtoms },
  ])
  await addUnresolved(tx, { accountId, paymentId: payment.id, asset }, creditedAtoms + gatewayFeeAtoms)
  return shortfall
}

/** The payment's lock and its counters make each cause new; meeting one again means that they and the journal part. */
async function postOnce(
  tx: Tx,
  of: Pick<Payment, 'accountId'>,
  cause: string,
  chain: Payment['chain'],
  transfers: readonly Transfer[],
): Promise<void> {
  const booked = await post(tx, { accountId: of.accountId, chain, cause, transfers })
  invariant(booked, `${cause} was booked before`)
}
