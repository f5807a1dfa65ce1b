/** Outputs at addresses we issued become deposits of the payments they were issued for: read, then planned, then written. */
import type { BlockRef } from '../../chains/chain.ts'
import type { ChainName } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import type { Tx } from '../../db/database.ts'
import { macOfDeposit } from '../../deposits/deposit-mac.ts'
import { markRenamedByBlock, type PaymentKey, recordInputs } from '../../deposits/deposits.sql.ts'
import { recordSightings } from '../../deposits/record-sightings.sql.ts'
import { fiatValue } from '../../rates/quote.ts'
import { recordGasFunding } from '../../treasury/gas-funding.sql.ts'
import { recordUnexpectedDeposits } from '../../treasury/unexpected-deposits.sql.ts'
import { recordUtxos } from '../../treasury/utxos.sql.ts'
import { withholdPaid } from '../../wallets/address-pool.sql.ts'
import { readDatabaseTime } from '../database-time.sql.ts'
import type { Gateway } from '../gateway.ts'
import { listOwnTransactions, type OwnAddresses } from './own-addresses.sql.ts'
import { isNamedByBlock, type Plan, planDeposits, type SeenOutput } from './plan-deposits.ts'

interface Where {
  /** Null in the mempool. */
  readonly block: BlockRef | null
  /** The block's time, or the moment of our sighting. */
  readonly time: Date
}

/**
 * Records what transactions pay us: deposits, and from blocks what the gateway itself received.
 *
 * @param own - Of `matchOwnAddresses`: what it found among the transactions.
 * @returns The payments whose deposits changed.
 */
export async function recordDeposits(
  gateway: Gateway,
  tx: Tx,
  chain: ChainName,
  own: OwnAddresses,
  where: Where,
): Promise<PaymentKey[]> {
  const now = where.block ? await readDatabaseTime(tx) : where.time
  const keys = own.paying.map((transaction) => transaction.key)
  const plan = planDeposits({
    chain,
    block: where.block,
    transactions: own.paying,
    own,
    ours: await listOwnTransactions(tx, chain, keys),
    // Our clock, or the block's where that is earlier: what a node shows late was still there in time.
    seenAt: where.time < now ? where.time : now,
    now,
    macOf: (output) => macOfDeposit(gateway.secrets, output),
    worthOf: (output) => valueAtSight(gateway, output),
  })
  return write(tx, chain, where.block, plan)
}

async function write(tx: Tx, chain: ChainName, block: BlockRef | null, plan: Plan): Promise<PaymentKey[]> {
  if (block) await recordUtxos(tx, chain, { height: block.height, transactions: plan.utxos }, () => true)
  if (block)
    for (const { key, outputs } of plan.unexpectedDeposits)
      await recordUnexpectedDeposits(tx, chain, key, outputs, block.height)
  for (const funding of plan.gas) await recordGasFunding(tx, funding)
  // Nobody pays to the pool unless it was handed out by what a restored database forgot.
  await withholdPaid(tx, chain, plan.unissued)
  for (const { address, txKey } of plan.sightings.filter(isNamedByBlock))
    await markRenamedByBlock(tx, chain, address, txKey)
  await recordInputs(tx, chain, plan.spends)
  return recordSightings(tx, chain, plan.sightings)
}

function valueAtSight(
  gateway: Gateway,
  { amountAtoms, asset, mode, fiatCurrency }: SeenOutput,
): bigint | null {
  try {
    return fiatValue(amountAtoms, asset, gateway.rates[mode].rate(asset, fiatCurrency).ratio)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
