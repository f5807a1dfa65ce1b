/** The coins a buyer may pick for a price, each with what it costs now. */
import type { Account } from '../../accounts/account.ts'
import { ASSET_FACTS, ASSETS, type Asset, chainFor, type Fiat, type Network } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import { formatDecimal } from '../../core/money.ts'
import type { Queryable } from '../../db/database.ts'
import { dueAtoms } from '../../rates/quote.ts'
import type { Gateway } from '../gateway.ts'
import { requireChainInSight } from '../payments/create-payment.ts'

export interface CoinOffer {
  readonly asset: Asset
  readonly network: Network
  /** What would be due at the rate of now, as a decimal; null when the coin cannot be taken now. */
  readonly amount: string | null
}

/** Every coin, in the order of the contract. Nothing is locked: picking one quotes again. */
export async function offerCoins(
  gateway: Pick<Gateway, 'rates'>,
  db: Queryable,
  account: Account,
  price: { readonly fiatMinor: bigint; readonly currency: Fiat },
): Promise<CoinOffer[]> {
  const offers: CoinOffer[] = []
  for (const asset of ASSETS) {
    const { network, decimals } = ASSET_FACTS[asset]
    const due = await nowDue(gateway, db, account, asset, price)
    offers.push({ asset, network, amount: due === null ? null : formatDecimal(due, decimals) })
  }
  return offers
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
    const { ratio } = gateway.rates[account.mode].rate(asset, price.currency)
    return dueAtoms(price.fiatMinor, ratio, asset)
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'unavailable') return null
    throw error
  }
}
