/** The network's fee of what we send: the gateway's cost. */
import { nativeAsset } from '../../core/assets.ts'
import { GATEWAY } from '../../core/gateway-account.ts'
import type { Tx } from '../../db/database.ts'
import { post } from '../../ledger/post.sql.ts'
import { end, markFeeBooked, type SetMember } from '../../treasury/signed-transactions.sql.ts'

/**
 * What the network took: the gateway's cost, against which the fees that merchants were quoted are credited. Brings what
 * is booked to `atoms`: after a reorganisation the same bytes may cost something else, or nothing.
 */
export async function bookFee(tx: Tx, of: SetMember, atoms: bigint): Promise<void> {
  const { chain, txid, bookedFeeAtoms, feeBookings } = of
  const more = atoms - bookedFeeAtoms
  if (more === 0n) return
  const asset = nativeAsset(chain)
  await post(tx, {
    accountId: GATEWAY,
    chain,
    cause: { kind: 'network_fee', subjectId: txid, number: feeBookings + 1 },
    transfers: [
      more > 0n
        ? { asset, debit: 'network_fees', credit: 'wallet', atoms: more }
        : { asset, debit: 'wallet', credit: 'network_fees', atoms: -more },
    ],
  })
  await markFeeBooked(tx, chain, txid, atoms)
}

/** Ends a replacement set that can never enter the chain: it costs nothing, whatever was booked before a deep reorganisation. */
export async function endImpossible(tx: Tx, members: readonly SetMember[]): Promise<void> {
  for (const member of members) {
    await end(tx, member, 'impossible')
    await bookFee(tx, member, 0n)
  }
}
