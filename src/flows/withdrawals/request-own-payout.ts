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
import { formatCoins, notBelowZero, smaller } from '../../core/money.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { readOwnSums } from '../../ledger/own-sums.sql.ts'
import { type OwnSums, ownAtoms } from '../../ledger/own-sums.ts'
import { findFeeRates } from '../../treasury/fee-rates.sql.ts'
import { gasPrice, type NetworkRates, type WithdrawalCost } from '../../treasury/fees.ts'
import { scheduleOf, tokenSweepsGasMost } from '../../treasury/gas.ts'
import { countGasNeeded, sumOpenFees, type ToMove } from '../../treasury/needed-gas.sql.ts'
import { sumCapitalOutside } from '../../treasury/unexpected-deposits.sql.ts'
import type { OwnKind, Withdrawal } from '../../withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../withdrawals/withdrawals.sql.ts'
import type { Gateway } from '../gateway.ts'
import { cancelWithdrawal } from './cancel-withdrawal.ts'
import { readSpendable, requireSpendable, requireThawed } from './payout-funds.ts'
import { type PricedOrder, type Pricing, price, type WithdrawalOrder } from './price-withdrawal.ts'
import { hold } from './request-withdrawal.ts'

/** Of what merchants have, ether or tokens, the hot wallet keeps the gas of so many payouts beside those that wait. */
const PAYOUTS_AHEAD = 10n

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
    const within = (atoms: bigint) => notBelowZero(smaller(own, atoms))
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
  const schedule = scheduleOf(rates)
  const gas =
    // Ether is swept out of the deposit, which a merchant has all of.
    ether.sweeps * schedule.transfer +
    payoutsOf(ether) * schedule.payoutMost.ETH +
    tokenSweepsGasMost(schedule, tokens.sweeps) +
    payoutsOf(tokens) * schedule.payoutMost.token +
    deployments * schedule.deployment
  return gasPrice(rates).maxFeeWei * gas
}

const payoutsOf = ({ payouts, isOwed }: ToMove): bigint => payouts + (isOwed ? PAYOUTS_AHEAD : 0n)

/** The gateway charges itself nothing, and gas of tokens is its own ether. */
const ownPricing = (gateway: Pick<Gateway, 'secrets' | 'settings'>): Pricing => ({
  ...gateway,
  feeBps: 0n,
  prices: null,
})

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
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  tx: Tx,
  order: OwnOrder,
): Promise<Withdrawal> {
  const { asset, kind, mode } = order
  const account = await lockGatewayAccount(tx, mode)
  const { cost, chain, destination } = await pricePayable(gateway, tx, order)
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

/** What an order that could be given now would cost; holds nothing. @throws {Refusal} as {@link requestOwnPayout}. */
export const quoteOwnPayout = async (
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  db: Queryable,
  order: OwnOrder,
): Promise<WithdrawalCost> => (await pricePayable(gateway, db, order)).cost

/** The price of an order that what can be taken out covers now. */
async function pricePayable(
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  db: Queryable,
  order: OwnOrder,
): Promise<PricedOrder> {
  const { asset, kind, mode } = order
  const priced = await price(ownPricing(gateway), db, { id: GATEWAY_ACCOUNTS[mode], mode }, order)
  const { cost, chain } = priced
  await requireThawed(db, chain, asset)
  const [balance] = await readOwnBalances(db, { chain, asset })
  const payable = balance?.payable[kind] ?? 0n
  if (cost.amountAtoms > payable)
    throw unprocessable(
      'insufficient_balance',
      `${formatCoins(cost.amountAtoms, asset)} of ${kind} was asked for and ${formatCoins(payable, asset)} can be taken out: what merchants have, fees under way and gas stay`,
      [{ field: 'amount', message: `exceeds the ${formatCoins(payable, asset)} that can be taken out` }],
    )
  await requireSpendable(await readSpendable(db, priced), cost.netAtoms)
  return priced
}
