/**
 * The operator takes out what is the gateway's own: fees that it earned, capital that it was given. The same road as a
 * merchant's withdrawal: held in the ledger, authenticated, signed within the same limits and to the same allowlist, followed,
 * and given back when it fails.
 */
import { lockGatewayAccount } from '../../accounts/accounts.sql.ts'
import type { Asset, ChainName, Mode } from '../../core/assets.ts'
import { notFound, unprocessable } from '../../core/errors.ts'
import { GATEWAY_ACCOUNTS } from '../../core/gateway-account.ts'
import { newId, type WithdrawalId } from '../../core/ids.ts'
import { formatCoins } from '../../core/money.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { readOwnSums } from '../../ledger/own-sums.sql.ts'
import { type OwnSums, ownAtoms } from '../../ledger/own-sums.ts'
import { findFeeRates } from '../../treasury/fee-rates.sql.ts'
import { gasPrice, type NetworkRates, PAYOUT_GAS_MAX } from '../../treasury/fees.ts'
import { countGasNeeded, sumOpenFees, type ToMove } from '../../treasury/needed-gas.sql.ts'
import { sumCapitalOutside } from '../../treasury/unexpected-deposits.sql.ts'
import type { OwnKind, Withdrawal } from '../../withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../withdrawals/withdrawals.sql.ts'
import { cancelWithdrawal } from './cancel-withdrawal.ts'
import { readSpendable, requireSpendable, requireThawed } from './payout-funds.ts'
import { hold, type Pricing, price, type WithdrawalOrder } from './request-withdrawal.ts'

/** Of what merchants have, ether or tokens, the hot wallet keeps the gas of so many payouts beside those that wait. */
const PAYOUTS_AHEAD = 10n
/**
 * Gas that a sweep may use at most: ether as a plain transfer, out of the deposit that a merchant has all of; a token in a batch,
 * the authorisation of its address included.
 */
const SWEEP_GAS_MAX = { ETH: 21_000n, token: 120_000n } as const
/** The contract that batches run at. */
const DEPLOYMENT_GAS_MAX = 1_000_000n

export interface OwnBalance extends OwnSums {
  /** What can be taken out of each now; both together no more than the larger one. */
  readonly payable: Readonly<Record<OwnKind, bigint>>
  /** Kept back for what is signed and not settled, for gas, and what no sweep has brought to the hot wallet yet. */
  readonly keptAtoms: bigint
}

/** The gateway's own side of the books, with what can be taken out of it now. */
export async function readOwnBalances(
  db: Queryable,
  of: { readonly chain: ChainName; readonly asset: Asset } | null = null,
): Promise<OwnBalance[]> {
  const balances: OwnBalance[] = []
  for (const sums of await readOwnSums(db, of)) {
    const keptAtoms = await keptFor(db, sums)
    const own = ownAtoms(sums) - keptAtoms
    const within = (atoms: bigint) => (own < atoms ? (own > 0n ? own : 0n) : atoms > 0n ? atoms : 0n)
    balances.push({ ...sums, keptAtoms, payable: { fees: within(sums.fees), capital: within(sums.capital) } })
  }
  return balances
}

/** What transactions under way may still cost, capital that the wallet does not have, and of ether the gas of what is to be moved. */
async function keptFor(db: Queryable, { chain, asset }: OwnSums): Promise<bigint> {
  const kept = (await sumOpenFees(db, chain, asset)) + (await sumCapitalOutside(db, chain, asset))
  if (asset !== 'ETH') return kept
  const rates = await findFeeRates(db, chain)
  return kept + (rates ? await gasOf(db, chain, rates) : 0n)
}

/** Ether of the hot wallet alone pays for gas, and each transaction needs as much as it may cost at most. */
async function gasOf(db: Queryable, chain: ChainName, rates: NetworkRates): Promise<bigint> {
  const { ether, tokens, deployments } = await countGasNeeded(db, chain)
  const gas = gasToMove(ether, 'ETH') + gasToMove(tokens, 'token') + deployments * DEPLOYMENT_GAS_MAX
  return gasPrice(rates).maxFeeWei * gas
}

const gasToMove = ({ sweeps, payouts, isOwed }: ToMove, what: 'ETH' | 'token'): bigint =>
  sweeps * SWEEP_GAS_MAX[what] + (payouts + (isOwed ? PAYOUTS_AHEAD : 0n)) * PAYOUT_GAS_MAX[what]

export interface OwnOrder extends WithdrawalOrder {
  readonly kind: OwnKind
  readonly mode: Mode
}

/**
 * Holds the amount and requests its payout, in the caller's transaction. The network's fee is taken from the amount; gas of
 * tokens is ether of the gateway's own, and costs nothing here.
 *
 * @throws {Refusal} as `requestWithdrawal`; `unprocessable`, reason `insufficient_balance`, for more than can be taken out:
 *   what merchants have is never touched.
 */
export async function requestOwnPayout(
  gateway: Omit<Pricing, 'prices'>,
  tx: Tx,
  order: OwnOrder,
): Promise<Withdrawal> {
  const { asset, kind, mode } = order
  const account = await lockGatewayAccount(tx, mode)
  const priced = await price({ ...gateway, prices: null }, tx, account, order, 0n)
  const { cost, chain, destination } = priced
  await requireThawed(tx, chain, asset)
  const [balance] = await readOwnBalances(tx, { chain, asset })
  const payable = balance?.payable[kind] ?? 0n
  if (cost.amountAtoms > payable)
    throw unprocessable(
      'insufficient_balance',
      `${formatCoins(cost.amountAtoms, asset)} of ${kind} was asked for and ${formatCoins(payable, asset)} can be taken out: what merchants have, fees under way and gas stay`,
      [{ field: 'amount', message: `exceeds the ${formatCoins(payable, asset)} that can be taken out` }],
    )
  await requireSpendable(await readSpendable(tx, priced), cost.netAtoms)
  return hold(gateway, tx, {
    ...cost,
    accountId: account.id,
    id: newId('wd'),
    kind,
    paymentId: null,
    chain,
    asset,
    destination: destination.address,
    askedBy: 'operator',
  })
}

/**
 * Calls back a payout of the gateway's own, of whichever mode.
 *
 * @throws {Refusal} `not_found`; as {@link cancelWithdrawal}.
 */
export async function cancelOwnPayout(tx: Tx, id: WithdrawalId | null): Promise<Withdrawal> {
  for (const accountId of Object.values(GATEWAY_ACCOUNTS))
    if (id && (await findWithdrawal(tx, accountId, id))) return cancelWithdrawal(tx, { id: accountId }, id)
  throw notFound(
    'withdrawal_not_found',
    'no such payout of fees or capital; npx beck fees and the dashboard list them',
  )
}

/** What an order would cost now. @throws {Refusal} as {@link requestOwnPayout}, but for the balance. */
export async function quoteOwnPayout(gateway: Omit<Pricing, 'prices'>, db: Queryable, order: OwnOrder) {
  const { mode } = order
  const account = { id: GATEWAY_ACCOUNTS[mode], mode }
  return (await price({ ...gateway, prices: null }, db, account, order, 0n)).cost
}
