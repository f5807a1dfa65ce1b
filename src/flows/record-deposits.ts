/** Outputs at addresses we issued become deposits of the payments they were issued for. */
import type { BlockRef, ChainTransaction, Output } from '../chains/chain.ts'
import { ASSET_FACTS, type ChainName } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import type { Tx } from '../db/database.ts'
import {
  markRenamedByBlock,
  type PaymentKey,
  recordInputs,
  recordSighting,
} from '../deposits/deposits.sql.ts'
import { fiatValue } from '../rates/quote.ts'
import type { Gateway } from './gateway.ts'
import { type IssuedAddress, matchIssuedAddresses } from './issued-addresses.sql.ts'

/** Output index of ether that contracts sent (see the chain port). */
const SENT_BY_CONTRACT = -2

interface Where {
  /** Null in the mempool. */
  readonly block: BlockRef | null
  /** The block's time, or the moment of our sighting. */
  readonly time: Date
}

/** @returns The payments whose deposits changed. */
export async function recordDeposits(
  gateway: Gateway,
  tx: Tx,
  chain: ChainName,
  transactions: readonly ChainTransaction[],
  where: Where,
): Promise<PaymentKey[]> {
  const lookups = transactions.flatMap((transaction) => transaction.outputs.map((output) => output.lookup))
  const issued = await matchIssuedAddresses(tx, chain, lookups)
  if (issued.size === 0) return []

  const sightedAt = where.block ? await earlier(tx, where.time) : where.time
  const touched: PaymentKey[] = []
  for (const transaction of transactions) {
    for (const output of transaction.outputs) {
      const address = output.atoms > 0n ? issued.get(Buffer.from(output.lookup).toString('hex')) : undefined
      if (!address) continue
      if (output.index === SENT_BY_CONTRACT)
        await markRenamedByBlock(tx, chain, address.address, transaction.key)
      const isNew = await recordSighting(tx, {
        ...address,
        chain,
        asset: output.asset,
        txKey: transaction.key,
        txHash: transaction.hash,
        outputIndex: output.index,
        amountAtoms: output.atoms,
        block: where.block,
        seenAt: sightedAt,
        sightedMinor: sightedAt > address.windowEndsAt ? valueAtSight(gateway, address, output) : null,
        dust: output.atoms < ASSET_FACTS[output.asset].dustAtoms,
      })
      if (transaction.inputs.length > 0) await recordInputs(tx, chain, transaction.key, transaction.inputs)
      if (isNew) touched.push(address)
    }
  }
  return touched
}

/** Our clock, or the block's where that is earlier: what a node shows late was still there in time. */
async function earlier(tx: Tx, blockTime: Date): Promise<Date> {
  const { rows } = await tx.query<{ at: Date }>('select least($1::timestamptz, clock_timestamp()) as at', [
    blockTime,
  ])
  return rows[0]?.at ?? blockTime
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
