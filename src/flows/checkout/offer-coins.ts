/** The coins a buyer may pick for a price, each with what it costs now. */
import type { Account } from '../../accounts/account.ts'
import { offeredBy } from '../../accounts/offered-assets.ts'
import { listChainProgress } from '../../chains/chain-progress.sql.ts'
import { ASSET_FACTS, type Asset, chainFor, type Fiat } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import { formatDecimal } from '../../core/money.ts'
import type { Queryable } from '../../db/database.ts'
import { dueAtoms } from '../../rates/quote.ts'
import type { Gateway } from '../gateway.ts'
import { requireChainInSight, requireSandboxNode } from '../payments/create-payment.ts'
import { isDust } from '../payments/fiat-amount.ts'
import { ratesOf } from '../payments/rates-of.ts'

export interface CoinOffer {
  readonly asset: Asset
  /** What would be due at the rate of now, as a decimal; null when the coin cannot be taken now. */
  readonly amount: string | null
}

/**
 * The coins that can be taken now, in the order of `ASSETS`, and behind them those that cannot for a while. What the
 * operator never set up is not there at all. Nothing is locked: picking one quotes again.
 */
export async function offerCoins(
  gateway: Pick<Gateway, 'rates'>,
  db: Queryable,
  account: Account,
  price: { readonly fiatMinor: bigint; readonly currency: Fiat },
  /** The session's own choice among the account's. */
  ofSession: readonly Asset[] | null = null,
): Promise<CoinOffer[]> {
  const offers: CoinOffer[] = []
  const known = account.mode === 'live' ? (await listChainProgress(db)).map(({ chain }) => chain) : null
  for (const asset of offeredBy(account.offeredAssets, ofSession)) {
    const { network, decimals } = ASSET_FACTS[asset]
    if (known && !known.includes(chainFor(account.mode, network))) continue
    const due = await nowDue(gateway, db, account, asset, price)
    offers.push({ asset, amount: due === null ? null : formatDecimal(due, decimals) })
  }
  return offers.sort((a, b) => Number(a.amount === null) - Number(b.amount === null))
}

async function nowDue(
  gateway: Pick<Gateway, 'rates'>,
  db: Queryable,
  account: Account,
  asset: Asset,
  price: { readonly fiatMinor: bigint; readonly currency: Fiat },
): Promise<bigint | null> {
  try {
    const chain = chainFor(account.mode, ASSET_FACTS[asset].network)
    if (account.mode === 'live') await requireChainInSight(db, asset, chain)
    requireSandboxNode(account, asset)
    const { ratio } = ratesOf(gateway, account).rate(asset, price.currency)
    const due = dueAtoms(price.fiatMinor, ratio, asset)
    return isDust(due, asset) ? null : due
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'unavailable') return null
    throw error
  }
}
