/** Outputs at addresses we issued become deposits of the payments they were issued for. */
import type { BlockRef, ChainTransaction, Output } from '../../chains/chain.ts'
import { ASSET_FACTS, type ChainName, hasAccounts } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import type { Tx } from '../../db/database.ts'
import { SENT_BY_CONTRACT } from '../../deposits/deposit.ts'
import { macOfDeposit } from '../../deposits/deposit-mac.ts'
import {
  markRenamedByBlock,
  type PaymentKey,
  recordInputs,
  recordSightings,
  type Sighting,
} from '../../deposits/deposits.sql.ts'
import { fiatValue } from '../../rates/quote.ts'
import { recordCoins } from '../../treasury/coins.sql.ts'
import { recordGasFunding } from '../../treasury/gas-funding.sql.ts'
import { recordReceipts } from '../../treasury/receipts.sql.ts'
import { withholdPaid } from '../../wallets/address-pool.sql.ts'
import { readDatabaseTime } from '../database-time.sql.ts'
import type { Gateway } from '../gateway.ts'
import {
  type IssuedAddress,
  listOwnTransactions,
  type OwnAddresses,
  type Spend,
  spendsOf,
} from './own-addresses.sql.ts'

interface Where {
  /** Null in the mempool. */
  readonly block: BlockRef | null
  /** The block's time, or the moment of our sighting. */
  readonly time: Date
}

/**
 * Records deposits and, from blocks of chains with outputs, the coins that were received.
 *
 * @param own - Of `matchOwnAddresses`.
 * @returns The payments whose deposits changed.
 */
export async function recordDeposits(
  gateway: Gateway,
  tx: Tx,
  chain: ChainName,
  transactions: readonly ChainTransaction[],
  own: OwnAddresses,
  where: Where,
): Promise<PaymentKey[]> {
  const isOurs = (lookup: Uint8Array): boolean => own.find(lookup) !== undefined
  const paying = transactions.filter(({ outputs }) => outputs.some(({ lookup }) => isOurs(lookup)))
  if (where.block && !hasAccounts(chain)) {
    await recordCoins(tx, chain, { ...where.block, transactions: paying }, isOurs)
  }
  // Of change and of the pool: nobody pays to the pool unless it was handed out by what a restored database forgot.
  await withholdPaid(
    tx,
    chain,
    paying.flatMap(({ outputs }) =>
      outputs.flatMap(({ lookup }) => (own.find(lookup) === null ? [lookup] : [])),
    ),
  )
  const ours = await listOwnTransactions(
    tx,
    chain,
    paying.map((transaction) => transaction.key),
  )

  const sightedAt = where.block ? await earlier(tx, where.time) : where.time
  const sightings: Sighting[] = []
  const spends: Spend[] = []
  for (const transaction of paying) {
    if (ours.has(transaction.key)) {
      await recordOwnEther(tx, chain, transaction, own, where.block)
      continue
    }
    if (where.block && hasAccounts(chain)) {
      const ownOutputs = transaction.outputs.filter((output) => own.find(output.lookup) === null)
      await recordReceipts(tx, chain, transaction.key, ownOutputs, where.block.height)
    }
    if (!transaction.outputs.some((output) => own.find(output.lookup))) continue
    spends.push(...spendsOf(transaction))
    for (const output of transaction.outputs) {
      const address = output.atoms > 0n ? own.find(output.lookup) : undefined
      if (!address) continue
      if (output.index === SENT_BY_CONTRACT)
        await markRenamedByBlock(tx, chain, address.address, transaction.key)
      const shown = {
        ...address,
        chain,
        asset: output.asset,
        txKey: transaction.key,
        outputIndex: output.index,
        amountAtoms: output.atoms,
      }
      sightings.push({
        ...shown,
        mac: macOfDeposit(gateway.secrets, shown),
        txHash: transaction.hash,
        block: where.block,
        seenAt: sightedAt,
        sightedMinor: sightedAt > address.windowEndsAt ? valueAtSight(gateway, address, output) : null,
        dust: output.atoms < ASSET_FACTS[output.asset].dustAtoms,
      })
    }
  }
  await recordInputs(tx, chain, spends)
  return recordSightings(tx, chain, sightings)
}

/** Gas that we sent to a deposit address ourselves. */
async function recordOwnEther(
  tx: Tx,
  chain: ChainName,
  transaction: ChainTransaction,
  own: OwnAddresses,
  block: BlockRef | null,
): Promise<void> {
  if (!block || !hasAccounts(chain)) return
  for (const output of transaction.outputs) {
    const address = own.find(output.lookup)?.address
    if (!address || output.asset !== 'ETH' || output.atoms === 0n) continue
    await recordGasFunding(tx, {
      chain,
      txid: transaction.key,
      address,
      atoms: output.atoms,
      blockHeight: block.height,
    })
  }
}

/** Our clock, or the block's where that is earlier: what a node shows late was still there in time. */
async function earlier(tx: Tx, blockTime: Date): Promise<Date> {
  const now = await readDatabaseTime(tx)
  return blockTime < now ? blockTime : now
}

function valueAtSight(gateway: Gateway, address: IssuedAddress, output: Output): bigint | null {
  try {
    return fiatValue(
      output.atoms,
      output.asset,
      gateway.rates[address.mode].rate(output.asset, address.fiatCurrency).ratio,
    )
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
