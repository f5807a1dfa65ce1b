/** `beck fees`: what the gateway earned and was given, and how the operator takes it out. */
import { isAsset, MODES, type Mode, modeOfChain } from '../core/assets.ts'
import { invalidField } from '../core/errors.ts'
import { GATEWAY_ACCOUNTS } from '../core/gateway-account.ts'
import { readId, showId } from '../core/ids.ts'
import { formatAmount, formatCoins, formatDecimal } from '../core/money.ts'
import {
  cancelOwnPayout,
  type OwnBalance,
  readOwnBalances,
  requestOwnPayout,
} from '../flows/withdrawals/request-own-payout.ts'
import { walletAtoms } from '../ledger/own-sums.ts'
import type { Withdrawal } from '../withdrawals/withdrawal.ts'
import { waitingOf } from '../withdrawals/withdrawal-resource.ts'
import { listRecentWithdrawals } from '../withdrawals/withdrawals.sql.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { inTransaction, withStore } from './tool.ts'

const LISTED_PAYOUTS = 20

export async function showFees(terminal: Terminal): Promise<void> {
  const { balances, payouts, feeBps } = await withStore(async ({ db }, { settings }) => ({
    balances: await readOwnBalances(db),
    payouts: (
      await Promise.all(
        MODES.map((mode) => listRecentWithdrawals(db, GATEWAY_ACCOUNTS[mode], LISTED_PAYOUTS)),
      )
    ).flat(),
    feeBps: settings.feeBps,
  }))
  terminal.answer({ balances: balances.map(shownBalance), pay_outs: payouts.map(shownPayout) }, [
    ...(balances.length === 0
      ? ['Nothing was earned or given yet.']
      : table([HEAD, ...balances.map((row) => lineOf(row))])),
    ...(payouts.length === 0 ? [] : ['', ...table(payouts.map(payoutLine))]),
    '',
    `Payments cost ${formatDecimal(feeBps, 2)} % (BECK_FEE_BPS), or what an account was given: npx beck accounts set --account ID --fee 0.5`,
    'Take out:  npx beck fees pay-out --asset BTC --amount 0.01 --destination ADDRESS',
  ])
}

const HEAD = ['chain', 'coin', 'fees', 'capital', 'fees to take', 'capital to take', 'network fees', 'loss']

const lineOf = (row: OwnBalance): string[] => [
  row.chain,
  row.asset,
  ...[row.fees, row.capital, row.payable.fees, row.payable.capital, row.networkFees, row.loss].map((atoms) =>
    formatAmount(atoms, row.asset),
  ),
]

const shownBalance = (row: OwnBalance) => ({
  chain: row.chain,
  mode: modeOfChain(row.chain),
  asset: row.asset,
  fees_atoms: String(row.fees),
  capital_atoms: String(row.capital),
  fees_payable_atoms: String(row.payable.fees),
  capital_payable_atoms: String(row.payable.capital),
  kept_atoms: String(row.keptAtoms),
  on_its_way_atoms: String(row.leaving),
  network_fees_atoms: String(row.networkFees),
  loss_atoms: String(row.loss),
  owed_to_merchants_atoms: String(row.owed),
  wallet_atoms: String(walletAtoms(row)),
})

const payoutLine = (row: Withdrawal): string[] => [
  showId('wd', row.id),
  row.kind,
  row.status,
  formatCoins(row.netAtoms, row.asset),
  row.destination,
  row.txHash ?? waitingOf(row) ?? row.refusedReason ?? '',
]

const shownPayout = (row: Withdrawal) => ({
  id: showId('wd', row.id),
  kind: row.kind,
  status: row.status,
  chain: row.chain,
  asset: row.asset,
  amount_atoms: String(row.amountAtoms),
  network_fee_atoms: String(row.networkFeeAtoms),
  net_atoms: String(row.netAtoms),
  destination_address: row.destination,
  tx_hash: row.txHash,
  waiting_for: waitingOf(row),
  failure_reason: row.status === 'failed' ? row.refusedReason : null,
  created_at: row.createdAt.toISOString(),
})

interface PayOutOptions {
  readonly asset: string
  readonly amount: string
  readonly destination: string
  readonly capital?: true
  readonly test?: true
}

export async function payOutFees(terminal: Terminal, given: PayOutOptions): Promise<void> {
  const asset = given.asset.toUpperCase()
  if (!isAsset(asset)) throw invalidField('asset', 'invalid_asset', `"${given.asset}" is no coin Beck knows`)
  const mode: Mode = given.test ? 'test' : 'live'
  const kind = given.capital ? 'capital' : 'fees'
  const { amount, destination } = given
  const requested = await inTransaction(async (tx, { secrets }, { settings }) => {
    const withdrawal = await requestOwnPayout({ secrets, settings }, tx, {
      kind,
      mode,
      asset,
      amount,
      destination,
    })
    const { id: subject, created_at: _at, ...after } = shownPayout(withdrawal)
    await recordCommand(tx, { accountId: withdrawal.accountId, action: 'fees.pay_out', subject, after })
    return withdrawal
  })
  const id = showId('wd', requested.id)
  terminal.answer(shownPayout(requested), [
    `${id}: ${formatCoins(requested.netAtoms, asset)} of ${kind} go to ${requested.destination}, after ${formatAmount(requested.networkFeeAtoms, asset)} for the network.`,
    `The signer signs it within its limits; see npx beck fees, and until it is signed: npx beck fees cancel ${id}`,
  ])
}

export async function cancelPayOut(terminal: Terminal, name: string): Promise<void> {
  const cancelled = await inTransaction(async (tx) => {
    const withdrawal = await cancelOwnPayout(tx, readId('wd', name))
    const { accountId, id } = withdrawal
    await recordCommand(tx, { accountId, action: 'fees.cancel', subject: showId('wd', id) })
    return withdrawal
  })
  terminal.answer(shownPayout(cancelled), [
    'Nothing is signed for it any more; the signer gives its amount back.',
  ])
}
