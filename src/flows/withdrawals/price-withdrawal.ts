/** What an order to pay out costs: its amount and its destination are valid, and the fees are those of now. Moves nothing. */
import type { Account } from '../../accounts/account.ts'
import { type Asset, type ChainName, chainFor, nativeAsset, networkOf } from '../../core/assets.ts'
import { unavailable } from '../../core/errors.ts'
import type { Queryable } from '../../db/database.ts'
import { sharedRead } from '../../db/together.ts'
import { findFeeRates } from '../../treasury/fee-rates.sql.ts'
import { costOf, payoutFeeAtoms, type TokenPrices, type WithdrawalCost } from '../../treasury/fees.ts'
import { readAmount } from '../../withdrawals/amount.ts'
import type { Destination } from '../../withdrawals/destination.ts'
import type { Gateway } from '../gateway.ts'
import { ratesOf } from '../payments/rates-of.ts'
import { requireNoRevert, requirePayable } from './payable-destination.ts'
import { readFunds, requireCovered } from './payout-funds.ts'
import { type Payout, type PricedPayout, readNetworkPrice } from './price-payout.ts'

export interface WithdrawalOrder {
  readonly asset: Asset
  /** A decimal of the coin. Gross: the fees are taken from it. */
  readonly amount: string
  readonly destination: string
}

/**
 * What an order would cost now; moves nothing and looks at no balance.
 *
 * @throws {Refusal} `invalid` for an amount or an address that can not be paid; `unprocessable` when the fees take it
 *   all; `unavailable` without a wallet, a fee estimate or a rate.
 */
export async function quoteWithdrawal(
  gateway: Gateway,
  db: Queryable,
  account: Account,
  order: WithdrawalOrder,
): Promise<WithdrawalCost> {
  return (await price(pricingOf(gateway, account), db, account, order)).cost
}

/**
 * The same for an order that could be given now, as far as the balance and the wallet go; holds nothing.
 *
 * @throws {Refusal} as {@link quoteWithdrawal}; `unprocessable`, reason `insufficient_balance`; `unavailable` while the asset is
 *   frozen.
 */
export async function quotePayable(
  gateway: Gateway,
  db: Queryable,
  account: Account,
  order: WithdrawalOrder,
): Promise<WithdrawalCost> {
  const priced = await price(pricingOf(gateway, account), db, account, order)
  await requireCovered(await readFunds(db, account.id, priced), priced.cost)
  return priced.cost
}

/** What a price depends on besides the database. */
export type Pricing = Pick<Gateway, 'secrets' | 'settings'> & {
  /** The gateway's payout fee, in hundredths of a percent. */
  readonly feeBps: bigint
  /** For gas of tokens; null where the gateway, whose ether it is, pays it to itself. */
  readonly prices: ((asset: Asset) => TokenPrices | null) | null
}

/** Of a merchant's payout. */
export const pricingOf = (gateway: Gateway, account: Account): Pricing => ({
  ...gateway,
  feeBps: gateway.settings.payoutFeeBps,
  prices: (asset) => tokenPrices(gateway, account, asset),
})

/** An order with its price. */
export interface PricedOrder extends PricedPayout {
  readonly cost: WithdrawalCost
  readonly chain: ChainName
  readonly destination: Destination
}

export async function price(
  pricing: Pricing,
  db: Queryable,
  account: Pick<Account, 'id' | 'mode'>,
  order: WithdrawalOrder,
): Promise<PricedOrder> {
  return (await readPrice(pricing, db, account, order)).after(0n)
}

/** What has a price once it is known what is paid before it. */
export interface Priceable {
  readonly payout: Payout
  /**
   * @param beforeAtoms - What lines before it in the same batch take of what the wallet has.
   * @throws {Refusal} `unprocessable`, as {@link costOf}.
   */
  after(beforeAtoms: bigint): PricedOrder
}

export async function readPrice(
  pricing: Pricing,
  db: Queryable,
  account: Pick<Account, 'id' | 'mode'>,
  order: WithdrawalOrder,
): Promise<Priceable> {
  const { asset } = order
  const { feeBps, prices } = pricing
  const chain = chainFor(account.mode, networkOf(asset))
  const amountAtoms = readAmount(asset, order.amount)
  const { wallet, destination } = await requirePayable(pricing, db, asset, chain, order.destination)
  await requireNoRevert(db, account, asset, destination.address)
  const rates = await readFeeRates(db, chain)
  if (!rates)
    throw unavailable(
      'no_fee_estimate',
      `the network fee of ${asset} is not known now: no worker has reached its node for a while; try again later`,
    )
  const atoms = amountAtoms - payoutFeeAtoms(amountAtoms, feeBps)
  const payout = { chain, asset, wallet, atoms, scriptLength: destination.lookup.length }
  const networkFee =
    prices === null && asset !== nativeAsset(chain)
      ? { coins: null, after: () => 0n }
      : await readNetworkPrice(db, payout, rates, () => prices?.(asset) ?? null)
  return {
    payout,
    after: (beforeAtoms) => ({
      cost: costOf(asset, amountAtoms, feeBps, networkFee.after(beforeAtoms)),
      chain,
      destination,
      payout,
      rates,
      coins: networkFee.coins,
    }),
  }
}

const readFeeRates = sharedRead(findFeeRates)

function tokenPrices(gateway: Gateway, account: Account, asset: Asset): TokenPrices | null {
  if (asset !== 'USDC' && asset !== 'USDT') return null
  const rates = ratesOf(gateway, account)
  return { ether: rates.rate('ETH', 'USD').ratio, token: rates.rate(asset, 'USD').ratio }
}
