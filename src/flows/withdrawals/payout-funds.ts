/**
 * What payouts of one coin can be taken from: a merchant's balance, and what the wallet can spend. It is read and locked once, for one
 * payout or for many in a row; what each of them takes is not there for the next.
 */
import { type Asset, type ChainName, hasAccounts } from '../../core/assets.ts'
import { unavailable, unprocessable } from '../../core/errors.ts'
import type { AccountId } from '../../core/ids.ts'
import { formatCoins, notBelowZero } from '../../core/money.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { isFrozen } from '../../ledger/freezes.sql.ts'
import { lockBalance } from '../../ledger/post.sql.ts'
import type { WithdrawalCost } from '../../treasury/fees.ts'
import { worthOf } from '../../treasury/payout-cost.ts'
import { sumUtxos } from '../../treasury/utxos.sql.ts'
import { readBalanceNow } from '../balance/balance.sql.ts'
import { type PricedPayout, readCoins } from './price-payout.ts'

/** Of a chain with outputs. */
export interface Spendable {
  readonly asset: Asset
  /** What the wallet's UTXOs bring after what spending them costs. */
  readonly worthAtoms: bigint
  /** What other payouts were promised of it. */
  readonly promisedAtoms: bigint
  /** The wallet's UTXOs, however small. */
  sumAtoms(): Promise<bigint>
}

/** @returns Null on chains with accounts. */
export async function readSpendable(
  db: Queryable,
  { payout, rates, coins }: PricedPayout,
): Promise<Spendable | null> {
  const { chain, asset, wallet } = payout
  if (hasAccounts(chain)) return null
  let sum: Promise<bigint> | null = null
  const { sums, promised } = coins ?? (await readCoins(db, payout, rates))
  return {
    asset,
    worthAtoms: worthOf(sums, rates.rate),
    promisedAtoms: promised.netAtoms,
    sumAtoms() {
      sum ??= sumUtxos(db, { chain, series: wallet.series })
      return sum
    },
  }
}

/**
 * What is promised can be paid out of what the wallet has, beside what was promised before.
 *
 * @param netAtoms - What the destination receives.
 * @throws {Refusal} `unprocessable`, reason `network_fee_too_high`.
 */
export async function requireSpendable(spendable: Spendable | null, netAtoms: bigint): Promise<void> {
  if (!spendable) return
  const { asset, worthAtoms, promisedAtoms } = spendable
  if (worthAtoms >= promisedAtoms + netAtoms) return
  // What is not there at all is no matter of fees: it is on its way, or the books say so.
  if ((await spendable.sumAtoms()) < promisedAtoms + netAtoms) return
  const left = formatCoins(notBelowZero(worthAtoms - promisedAtoms), asset)
  throw unprocessable(
    'network_fee_too_high',
    `at the network's fee now, what the wallet received is in parts too small to pay this out: ${left} can be paid now. Ask for less, or try again when the network asks for less`,
    [{ field: 'amount', message: `exceeds the ${left} that can be paid at the network's fee now` }],
  )
}

export interface PayoutFunds {
  readonly asset: Asset
  readonly availableAtoms: bigint
  readonly spendable: Spendable | null
}

/** Locks the balance, and reads anew what there is. @throws {Refusal} `unavailable` while the asset is frozen. */
export async function openFunds(
  tx: Tx,
  accountId: AccountId,
  { payout, rates }: Omit<PricedPayout, 'coins'>,
): Promise<PayoutFunds> {
  const { chain, asset } = payout
  await requireThawed(tx, chain, asset)
  const availableAtoms = await lockBalance(tx, { accountId, asset, kind: 'available' })
  return { asset, availableAtoms, spendable: await readSpendable(tx, { payout, rates, coins: null }) }
}

/** What there is now, without a lock: it may be gone when it is asked for. @throws {Refusal} as {@link openFunds}. */
export async function readFunds(
  db: Queryable,
  accountId: AccountId,
  priced: PricedPayout,
): Promise<PayoutFunds> {
  const { chain, asset } = priced.payout
  await requireThawed(db, chain, asset)
  const { balances } = await readBalanceNow(db, accountId)
  const available = balances.find((each) => each.asset === asset && each.kind === 'available')
  return {
    asset,
    availableAtoms: available?.atoms ?? 0n,
    spendable: await readSpendable(db, priced),
  }
}

/**
 * There is enough for it.
 *
 * @returns What is left for the next.
 * @throws {Refusal} `unprocessable`, reason `insufficient_balance`; as {@link requireSpendable}.
 */
export async function requireCovered(
  { asset, availableAtoms, spendable }: PayoutFunds,
  { amountAtoms, netAtoms }: WithdrawalCost,
): Promise<PayoutFunds> {
  if (availableAtoms < amountAtoms)
    throw unprocessable(
      'insufficient_balance',
      `${formatCoins(amountAtoms, asset)} was asked for and ${formatCoins(availableAtoms, asset)} is available; deposits count once they are confirmed`,
      [{ field: 'amount', message: `exceeds the available ${formatCoins(availableAtoms, asset)}` }],
    )
  await requireSpendable(spendable, netAtoms)
  return {
    asset,
    availableAtoms: availableAtoms - amountAtoms,
    spendable: spendable && { ...spendable, promisedAtoms: spendable.promisedAtoms + netAtoms },
  }
}

export async function requireThawed(db: Queryable, chain: ChainName, asset: Asset): Promise<void> {
  if (await isFrozen(db, chain, asset))
    throw unavailable(
      'withdrawals_frozen',
      `withdrawals of ${asset} are frozen until the operator has looked at a difference in the books`,
    )
}
