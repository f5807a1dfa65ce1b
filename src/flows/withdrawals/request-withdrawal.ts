/**
 * A balance on its way out: priced, held in the ledger and authenticated, in one transaction. From here the signer takes over;
 * nothing that is written later changes what was requested.
 */
import type { Account } from '../../accounts/account.ts'
import type { AskedBy } from '../../approvals/asker.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { invariant } from '../../core/errors.ts'
import { newId, showId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { post } from '../../ledger/post.sql.ts'
import { insertWithdrawal } from '../../withdrawals/insert-withdrawal.sql.ts'
import {
  HELD_FROM,
  holdCause,
  requestMacParts,
  type Withdrawal,
  type WithdrawalRequest,
} from '../../withdrawals/withdrawal.ts'
import { askForApproval } from '../approvals/ask-for-approval.ts'
import type { Gateway } from '../gateway.ts'
import { openFunds, requireCovered } from './payout-funds.ts'
import { type PricedOrder, price, pricingOf, type WithdrawalOrder } from './price-withdrawal.ts'
import { requireOnAllowlist } from './require-on-allowlist.ts'

/** An order, and who gave it. */
export type AskedOrder = WithdrawalOrder & { readonly askedBy: AskedBy }

/**
 * Holds the gross amount and requests its payout, in the caller's transaction.
 *
 * @throws {Refusal} as `quoteWithdrawal`; `unprocessable`, reason `insufficient_balance` or `not_on_allowlist`; `unavailable` while the
 *   asset is frozen.
 */
export async function requestWithdrawal(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  order: AskedOrder,
): Promise<Withdrawal> {
  const withdrawal = await holdPayout(gateway, tx, account, order)
  await requireOnAllowlist(tx, account.id, withdrawal.asset, withdrawal.destination)
  await askForApproval(tx, withdrawal)
  return withdrawal
}

/** The same, without a look at what other people guard: who calls it asks them, for many at once. */
export async function holdPayout(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  order: AskedOrder,
): Promise<Withdrawal> {
  const priced = await price(pricingOf(gateway, account), tx, account, order)
  await requireCovered(await openFunds(tx, account.id, priced), priced.cost)
  return hold(gateway, tx, payoutRequest(account, priced, order.askedBy))
}

export const payoutRequest = (
  { id: accountId }: Pick<Account, 'id'>,
  { cost, chain, destination, payout }: PricedOrder,
  askedBy: AskedBy,
): WithdrawalRequest => ({
  ...cost,
  accountId,
  id: newId('wd'),
  kind: 'payout',
  paymentId: null,
  chain,
  asset: payout.asset,
  destination: destination.address,
  askedBy,
})

/** Moves the gross amount to `held` and writes the request with its MAC. */
export async function hold(
  gateway: Pick<Gateway, 'secrets'>,
  tx: Tx,
  request: WithdrawalRequest,
): Promise<Withdrawal> {
  const booked = await post(tx, {
    accountId: request.accountId,
    chain: request.chain,
    cause: holdCause(request.id),
    transfers: [
      {
        asset: request.asset,
        debit: HELD_FROM[request.kind],
        credit: 'held',
        atoms: request.amountAtoms,
      },
    ],
  })
  invariant(booked, `withdrawal ${showId('wd', request.id)} was held before`)
  crashPoint('request:held')
  const mac = gateway.secrets.mac('withdrawal', requestMacParts(request))
  const withdrawal = await insertWithdrawal(tx, request, mac)
  crashPoint('request:written')
  return withdrawal
}
