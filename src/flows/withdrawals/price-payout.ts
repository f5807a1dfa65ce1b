/**
 * What the network takes for a payout. On chains with outputs it is priced by the UTXOs that will be spent for it, and what
 * they cannot pay is not promised (docs/decisions/0037).
 */
import { ASSET_FACTS, type Asset, type ChainName, hasAccounts } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import { divideUp, formatDecimal } from '../../core/money.ts'
import type { Queryable } from '../../db/database.ts'
import { type NetworkRates, networkFeeAtoms, type TokenPrices } from '../../treasury/fees.ts'
import {
  feeAt,
  payoutVbytes,
  UTXOS_PER_WITHDRAWAL_MAX,
  utxosToPay,
  worthOf,
} from '../../treasury/payout-cost.ts'
import { worthSpending } from '../../treasury/select-utxos.ts'
import { listUtxoAtoms, sumUtxos } from '../../treasury/utxos.sql.ts'
import type { Wallet } from '../../wallets/wallets.sql.ts'
import { sumUnsigned } from '../../withdrawals/withdrawals.sql.ts'

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

/**
 * On chains with outputs: what is promised can be paid out of what the wallet has, beside what was promised before.
 *
 * @param netAtoms - What the destination receives.
 * @throws {Refusal} `unprocessable`, reason `network_fee_too_high`.
 */
export async function requireSpendable(
  db: Queryable,
  payout: Payout,
  rates: NetworkRates,
  netAtoms: bigint,
): Promise<void> {
  const { chain, asset } = payout
  if (hasAccounts(chain)) return
  const worth = worthOf(await utxosFor(db, payout, rates), rates.rate)
  const promised = await sumUnsigned(db, chain, asset)
  if (worth >= promised + netAtoms) return
  // What is not there at all is no matter of fees: it is on its way, or the books say so.
  if ((await sumUtxos(db, { chain, series: payout.wallet.series })) < promised + netAtoms) return
  const left = worth > promised ? worth - promised : 0n
  const shown = `${formatDecimal(left, ASSET_FACTS[asset].decimals)} ${asset}`
  throw new Refusal(
    'unprocessable',
    'network_fee_too_high',
    `at the network's fee now, what the wallet received is in parts too small to pay this out: ${shown} can be paid now. Ask for less, or try again when the network asks for less`,
    [{ field: 'amount', message: `exceeds the ${shown} that can be paid at the network's fee now` }],
  )
}

const utxosFor = (db: Queryable, { chain, wallet }: Payout, { rate }: NetworkRates): Promise<bigint[]> =>
  listUtxoAtoms(db, {
    chain,
    series: wallet.series,
    least: worthSpending(rate),
    limit: UTXOS_PER_WITHDRAWAL_MAX,
  })

/** The service's payout fee, rounded up: the gateway takes the fraction. */
export const payoutFee = (amountAtoms: bigint, feeBps: bigint): bigint =>
  divideUp(amountAtoms * feeBps, 10_000n)
