/**
 * What transactions mean for us, decided from what was read of them and of us: no question is asked here, and nothing is
 * written. `record-deposits.ts` reads before and writes after.
 */
import type { BlockRef, ChainTransaction, Output } from '../../chains/chain.ts'
import { ASSET_FACTS, type ChainName, hasAccounts } from '../../core/assets.ts'
import { SENT_BY_CONTRACT } from '../../core/ether-outputs.ts'
import type { Sighting } from '../../deposits/record-sightings.sql.ts'
import type { GasFunding } from '../../treasury/gas-funding.sql.ts'
import { type IssuedAddress, type OwnAddresses, type Spend, spendsOf } from './own-addresses.sql.ts'

/** One output at an address that was issued for a payment. */
export interface SeenOutput extends IssuedAddress {
  readonly chain: ChainName
  readonly asset: Output['asset']
  readonly txKey: string
  readonly outputIndex: number
  readonly amountAtoms: bigint
}

export interface Observed {
  readonly chain: ChainName
  /** Null in the mempool. */
  readonly block: BlockRef | null
  readonly transactions: readonly ChainTransaction[]
  readonly own: Pick<OwnAddresses, 'find' | 'depositAddress'>
  /** Keys of those that the gateway signed itself. */
  readonly ours: ReadonlySet<string>
  /** When it was there at the latest. */
  readonly seenAt: Date
  /** When it is recorded: of a payment whose window is over by now it may be late, whenever it was there. */
  readonly now: Date
  /** Binds a deposit to what was seen. */
  macOf(output: SeenOutput): Sighting['mac']
  /** What a late deposit is worth now, in minor units; null without a rate. */
  worthOf(output: SeenOutput): bigint | null
}

export interface Plan {
  /** Outputs that may be spent, of chains with outputs: change and deposits alike. */
  readonly utxos: readonly ChainTransaction[]
  /** What reached addresses that no payment has on chains with accounts. */
  readonly unexpectedDeposits: readonly ChainTransaction[]
  /** Ether that our own transactions brought to addresses for deposits. */
  readonly gas: readonly GasFunding[]
  /** Addresses of ours that no payment has: change, the hot wallet, and those of the pool. */
  readonly unissued: readonly Uint8Array[]
  /** What the transactions of deposits spend. */
  readonly spends: readonly Spend[]
  readonly sightings: readonly Sighting[]
}

export function planDeposits(observed: Observed): Plan {
  const { chain, block, own, ours } = observed
  const withOutputs = (isWanted: (output: Output) => boolean) => (of: readonly ChainTransaction[]) =>
    of.flatMap((transaction) => {
      const outputs = transaction.outputs.filter(isWanted)
      return outputs.length > 0
        ? [{ key: transaction.key, hash: transaction.hash, inputs: transaction.inputs, outputs }]
        : []
    })
  const toUs = withOutputs(({ lookup }) => own.find(lookup) !== undefined)(observed.transactions)
  const toOurselves = withOutputs(({ lookup }) => own.find(lookup) === null)
  const ofOthers = toUs.filter(({ key }) => !ours.has(key))
  const toPayments = withOutputs(({ lookup }) => Boolean(own.find(lookup)))(ofOthers)
  const accounts = hasAccounts(chain)
  return {
    utxos: block && !accounts ? toUs : [],
    unexpectedDeposits: block && accounts ? toOurselves(ofOthers) : [],
    gas:
      block && accounts
        ? gasOf(
            observed,
            block,
            toUs.filter(({ key }) => ours.has(key)),
          )
        : [],
    unissued: toOurselves(toUs).flatMap(({ outputs }) => outputs.map(({ lookup }) => lookup)),
    spends: toPayments.flatMap(spendsOf),
    sightings: toPayments.flatMap((transaction) => sightingsOf(observed, transaction)),
  }
}

function sightingsOf(observed: Observed, transaction: ChainTransaction): Sighting[] {
  return transaction.outputs.flatMap((output): Sighting[] => {
    const address = observed.own.find(output.lookup)
    if (!address || output.atoms === 0n) return []
    const seen: SeenOutput = {
      ...address,
      chain: observed.chain,
      asset: output.asset,
      txKey: transaction.key,
      outputIndex: output.index,
      amountAtoms: output.atoms,
    }
    return [
      {
        ...seen,
        mac: observed.macOf(seen),
        txHash: transaction.hash,
        block: observed.block,
        seenAt: observed.seenAt,
        sightedMinor: observed.now > address.windowEndsAt ? observed.worthOf(seen) : null,
        dust: output.atoms < ASSET_FACTS[output.asset].dustAtoms,
      },
    ]
  })
}

function gasOf(
  { chain, own }: Observed,
  block: BlockRef,
  transactions: readonly ChainTransaction[],
): GasFunding[] {
  return transactions.flatMap(({ key, outputs }) =>
    outputs.flatMap(({ lookup, asset, atoms }): GasFunding[] => {
      const address = own.depositAddress(lookup)
      if (address === null || asset !== 'ETH' || atoms === 0n) return []
      return [{ chain, txid: key, address, atoms, blockHeight: block.height }]
    }),
  )
}

/** Ether of contracts is named by its block: a sighting of it stands in for what a lost block showed at the address. */
export const isNamedByBlock = (sighting: Sighting): boolean => sighting.outputIndex === SENT_BY_CONTRACT
