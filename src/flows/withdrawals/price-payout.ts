/**
 * What the network takes for a payout. On chains with outputs it is priced by the UTXOs that will be spent for it, and what
 * they cannot pay is not promised (docs/decisions/0037).
 */
import { type Asset, type ChainName, hasAccounts } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'
import { readShared } from '../../db/together.ts'
import { type NetworkRates, networkFeeAtoms, type TokenPrices } from '../../treasury/fees.ts'
import { feeAt, payoutVbytes, UTXOS_PER_WITHDRAWAL_MAX, utxosToPay } from '../../treasury/payout-cost.ts'
import { worthSpending } from '../../treasury/select-utxos.ts'
import { listUtxoAtoms } from '../../treasury/utxos.sql.ts'
import type { Wallet } from '../../wallets/wallets.sql.ts'

export interface Payout {
  readonly chain: ChainName
  readonly asset: Asset
  readonly wallet: Wallet
  /** What the destination and the network take together. */
  readonly atoms: bigint
  readonly scriptLength: number
}

/** Atoms of the coin that is paid out, rounded up. */
export async function priceNetwork(
  db: Queryable,
  payout: Payout,
  rates: NetworkRates,
  prices: () => TokenPrices | null,
): Promise<bigint> {
  const { chain, asset, atoms, scriptLength } = payout
  if (hasAccounts(chain)) return networkFeeAtoms(asset, rates, prices())
  const count = utxosToPay(await utxosFor(db, payout, rates), atoms)
  return feeAt(rates.rate, payoutVbytes(count ?? 0, scriptLength))
}

/** Those that are worth spending, the largest first: the same for all payouts of a wallet that are priced at this moment. */
export const utxosFor = (
  db: Queryable,
  { chain, wallet }: Payout,
  { rate }: NetworkRates,
): Promise<bigint[]> =>
  readShared(db, `utxos ${chain} ${wallet.series} ${rate}`, () =>
    listUtxoAtoms(db, {
      chain,
      series: wallet.series,
      least: worthSpending(rate),
      limit: UTXOS_PER_WITHDRAWAL_MAX,
    }),
  )
