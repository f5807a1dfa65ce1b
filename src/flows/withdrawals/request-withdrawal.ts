/**
 * A balance on its way out: validated, priced, held in the ledger and authenticated, in one transaction. From here the
 * signer takes over; nothing that is written later changes what was requested.
 */
import type { Account } from '../../accounts/account.ts'
import type { AskedBy } from '../../approvals/asker.ts'
import { type Asset, type ChainName, chainFor, nativeAsset, networkOf } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { invariant, unavailable, unprocessable } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { readShared } from '../../db/together.ts'
import { post } from '../../ledger/post.sql.ts'
import { findFeeRates } from '../../treasury/fee-rates.sql.ts'
import {
  costOf,
  type NetworkRates,
  payoutFeeAtoms,
  type TokenPrices,
  type WithdrawalCost,
} from '../../treasury/fees.ts'
import { isSweepDelegate } from '../../treasury/sweep-delegates.sql.ts'
import { isOwnAddress } from '../../wallets/address-pool.sql.ts'
import { findCurrentWallet, type Wallet } from '../../wallets/wallets.sql.ts'
import { readAmount } from '../../withdrawals/amount.ts'
import { type Destination, invalidAddress, readDestination } from '../../withdrawals/destination.ts'
import { insertWithdrawal } from '../../withdrawals/insert-withdrawal.sql.ts'
import { countReverts } from '../../withdrawals/reverts.sql.ts'
import {
  HELD_FROM,
  holdCause,
  requestMacParts,
  type Withdrawal,
  type WithdrawalRequest,
} from '../../withdrawals/withdrawal.ts'
import { askForApproval } from '../approvals/ask-for-approval.ts'
import type { Gateway } from '../gateway.ts'
import { ratesOf } from '../payments/rates-of.ts'
import { openFunds, readFunds, takeFrom } from './payout-funds.ts'
import { type Coins, type Payout, readNetworkPrice } from './price-payout.ts'
import { requireOnAllowlist } from './require-on-allowlist.ts'

/** So many withdrawals of an account may revert within a day before it waits. */
const REVERTS_PER_DAY = 3

export interface WithdrawalOrder {
  readonly asset: Asset
  /** A decimal of the coin. Gross: the fees are taken from it. */
  readonly amount: string
  readonly destination: string
}

/** An order, and who gave it. */
export type AskedOrder = WithdrawalOrder & { readonly askedBy: AskedBy }

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
  return (await price(pricingOf(gateway, account), db, account, order, gateway.settings.payoutFeeBps)).cost
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
  const priced = await price(pricingOf(gateway, account), db, account, order, gateway.settings.payoutFeeBps)
  await takeFrom(await readFunds(db, account.id, priced), priced.cost)
  return priced.cost
}

/**
 * Holds the gross amount and requests its payout, in the caller's transaction.
 *
 * @throws {Refusal} as {@link quoteWithdrawal}; `unprocessable`, reason `insufficient_balance` or `not_on_allowlist`; `unavailable` while the
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
  const priced = await price(pricingOf(gateway, account), tx, account, order, gateway.settings.payoutFeeBps)
  await takeFrom(await openFunds(tx, account.id, priced), priced.cost)
  return hold(gateway, tx, payoutRequest(account, priced, order.askedBy))
}

export const payoutRequest = (
  { id: accountId }: Pick<Account, 'id'>,
  { cost, chain, destination, payout }: Priced,
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
  invariant(booked, `withdrawal ${request.id} was held before`)
  crashPoint('request:held')
  const mac = gateway.secrets.mac('withdrawal', requestMacParts(request))
  const withdrawal = await insertWithdrawal(tx, request, mac)
  crashPoint('request:written')
  return withdrawal
}

/** What a price depends on besides the database. */
export type Pricing = Pick<Gateway, 'secrets' | 'settings'> & {
  /** For gas of tokens; null where the gateway, whose ether it is, pays it to itself. */
  readonly prices: ((asset: Asset) => TokenPrices | null) | null
}

export const pricingOf = (gateway: Gateway, account: Account): Pricing => ({
  ...gateway,
  prices: (asset) => tokenPrices(gateway, account, asset),
})

export interface Priced {
  readonly cost: WithdrawalCost
  readonly chain: ChainName
  readonly destination: Destination
  readonly payout: Payout
  readonly rates: NetworkRates
  readonly coins: Coins | null
}

export async function price(
  gateway: Pricing,
  db: Queryable,
  account: Pick<Account, 'id' | 'mode'>,
  order: WithdrawalOrder,
  feeBps: bigint,
): Promise<Priced> {
  return (await readPrice(gateway, db, account, order, feeBps)).after(0n)
}

/** What has a price once it is known what is paid before it. */
export interface Priceable {
  readonly payout: Payout
  /**
   * @param beforeAtoms - What lines before it in the same batch take of what the wallet has.
   * @throws {Refusal} `unprocessable`, as {@link costOf}.
   */
  after(beforeAtoms: bigint): Priced
}

export async function readPrice(
  gateway: Pricing,
  db: Queryable,
  account: Pick<Account, 'id' | 'mode'>,
  order: WithdrawalOrder,
  feeBps: bigint,
): Promise<Priceable> {
  const { asset } = order
  const chain = chainFor(account.mode, networkOf(asset))
  const amountAtoms = readAmount(asset, order.amount)
  const { wallet, destination } = await requirePayable(gateway, db, asset, chain, order.destination)
  await requireNoRevert(db, account, asset, destination.address)
  const rates = await readShared(db, `fee rates ${chain}`, () => findFeeRates(db, chain))
  if (!rates)
    throw unavailable(
      'no_fee_estimate',
      `the network fee of ${asset} is not known now: no worker has reached its node for a while; try again later`,
    )
  const atoms = amountAtoms - payoutFeeAtoms(amountAtoms, feeBps)
  const payout = { chain, asset, wallet, atoms, scriptLength: destination.lookup.length }
  const { prices } = gateway
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

/** Valid on this network in this mode, and not a place that money would not come back from. */
export async function requirePayable(
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  db: Queryable,
  asset: Asset,
  chain: ChainName,
  address: string,
): Promise<{ readonly wallet: Wallet; readonly destination: Destination }> {
  const wallet = await readShared(db, `wallet ${chain}`, () => findCurrentWallet(db, gateway.secrets, chain))
  if (!wallet)
    throw unavailable(
      'no_wallet',
      `${asset} cannot be paid out yet: the operator runs \`npx beck wallet init\` once`,
    )
  const destination = readDestination(asset, wallet.mode, address)
  if (gateway.settings.tokenContracts.some((contract) => contract.toLowerCase() === address.toLowerCase()))
    throw invalidAddress(
      `${address} is a token's contract; what is sent there is lost. Give the wallet's own address`,
    )
  if (await isOwnAddress(db, chain, destination.lookup))
    throw invalidAddress(`${address} is an address of this gateway itself; give a wallet of your own`)
  if (await isSweepDelegate(db, chain, address))
    throw invalidAddress(`${address} is the contract that sweeps run at; what is sent there is lost`)
  return { wallet, destination }
}

/** What reverts costs whoever asked for it its gas, and takes a nonce of the hot wallet from others. */
async function requireNoRevert(
  db: Queryable,
  account: Pick<Account, 'id'>,
  asset: Asset,
  address: string,
): Promise<void> {
  if (networkOf(asset) !== 'ethereum') return
  const { count, here } = await countReverts(db, account.id, asset, address)
  if (count >= REVERTS_PER_DAY && !here)
    throw unprocessable(
      'withdrawals_revert',
      `${count} withdrawals of this account reverted within the last day; no more than ${REVERTS_PER_DAY} may. Ask the receivers how they take coins, and try again tomorrow`,
    )
  if (!here) return
  throw unprocessable(
    'destination_reverts',
    `a payout of ${asset} to ${address} reverted within the last day: the address, or the token, does not take it. Use another address, or try again tomorrow`,
    [{ field: 'destination_address', message: `did not take ${asset}` }],
  )
}

function tokenPrices(gateway: Gateway, account: Account, asset: Asset): TokenPrices | null {
  if (asset !== 'USDC' && asset !== 'USDT') return null
  const rates = ratesOf(gateway, account)
  return { ether: rates.rate('ETH', 'USD').ratio, token: rates.rate(asset, 'USD').ratio }
}
