/**
 * What the network takes for a payout. On chains with outputs it is priced by the UTXOs that will be spent for it, and what
 * they cannot pay is not promised (docs/decisions/0037).
 */
import { type Asset, type ChainName, hasAccounts } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'
import { sharedRead } from '../../db/together.ts'
import { gasFeeAtoms, type NetworkRates, type TokenPrices } from '../../treasury/fees.ts'
import { payoutVbytes, sumsOf, UTXOS_PER_WITHDRAWAL_MAX, utxosToPay } from '../../treasury/payout-cost.ts'
import { feeAt, worthSpending } from '../../treasury/select-utxos.ts'
import { listUtxoAtoms } from '../../treasury/utxos.sql.ts'
import type { Wallet } from '../../wallets/wallets.sql.ts'
import { type Promised, sumUnsigned } from '../../withdrawals/withdrawals.sql.ts'

export interface Payout {
  readonly chain: ChainName
  readonly asset: Asset
  readonly wallet: Wallet
  /** What the destination and the network take together. */
  readonly atoms: bigint
  readonly scriptLength: number
}

export interface NetworkPrice {
  /** What it was told by; null on chains with accounts. */
  readonly coins: Coins | null
  /**
   * Atoms of the coin that is paid out, rounded up.
   *
   * @param beforeAtoms - What lines before it in the same batch take, which no row tells of yet.
   */
  after(beforeAtoms: bigint): bigint
}

/**
 * What was promised before spends the largest UTXOs: a payout is charged for those that it needs beyond them, and never for fewer
 * than it would need alone. Of UTXOs that do not suffice for all nobody knows which will pay it.
 */
export async function readNetworkPrice(
  db: Queryable,
  payout: Payout,
  rates: NetworkRates,
  prices: () => TokenPrices | null,
): Promise<NetworkPrice> {
  const { chain, asset, atoms, scriptLength } = payout
  if (hasAccounts(chain)) {
    const fee = gasFeeAtoms(asset, rates, prices())
    return { coins: null, after: () => fee }
  }
  const coins = await readCoins(db, payout, rates)
  const { sums, promised } = coins
  const alone = utxosToPay(sums, atoms) ?? 0
  return {
    coins,
    after(beforeAtoms) {
      const before = promised.takenAtoms + beforeAtoms
      const together = utxosToPay(sums, before + atoms) ?? 0
      const beyond = together - (before > 0n ? (utxosToPay(sums, before) ?? 0) : 0)
      return feeAt(rates.rate, payoutVbytes(Math.max(alone, beyond), scriptLength))
    },
  }
}

/** A payout that has its price, and what that was told by. */
export interface PricedPayout {
  readonly payout: Payout
  readonly rates: NetworkRates
  /** Null on chains with accounts. */
  readonly coins: Coins | null
}

/** What payouts of a wallet can be paid from. */
export interface Coins {
  /** Of its UTXOs that are worth spending, the largest first: what the first, the first two, and so on hold together. */
  readonly sums: readonly bigint[]
  readonly promised: Promised
}

/** The same for all payouts of a wallet that are priced at this moment. */
export const readCoins = (
  db: Queryable,
  { chain, asset, wallet }: Payout,
  { rate }: NetworkRates,
): Promise<Coins> => readCoinsOf(db, chain, asset, wallet.series, rate)

const readCoinsOf = sharedRead(
  async (db, chain: ChainName, asset: Asset, series: Wallet['series'], rate: bigint): Promise<Coins> => {
    const least = worthSpending(rate)
    const utxos = await listUtxoAtoms(db, { chain, series, least, limit: UTXOS_PER_WITHDRAWAL_MAX })
    return { sums: sumsOf(utxos), promised: await sumUnsigned(db, chain, asset) }
  },
)
