/** The way out for ether that was once derived from a balance and never came. */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import type { ChainPort } from '../../chains/chain.ts'
import { fence, type Lease } from '../../chains/chain-progress.sql.ts'
import { showId } from '../../core/ids.ts'
import { formatCoins } from '../../core/money.ts'
import { markDecisionDue } from '../../payments/payments.sql.ts'
import type { Gateway } from '../gateway.ts'
import { countOwnNonces, lockDerived, type RecordedEther, withdrawDerived } from './check-ether.sql.ts'

/**
 * An address that holds less than is recorded, though nobody ever moved anything out of it but our own transactions: what
 * was derived from its balance never came. Such deposits are taken back, the newest first, as far as the want goes;
 * deciding about their payments books the opposite. Where the address's nonce tells of somebody else, nothing is: that is a theft,
 * and the proof of the books tells of it.
 *
 * @param of.atoms - How much is wanting.
 */
export async function withdrawPhantoms(
  gateway: Gateway,
  port: ChainPort,
  lease: Lease,
  { address, tipHash, atoms: want }: RecordedEther & { readonly atoms: bigint },
): Promise<void> {
  const { chain } = port
  if ((await port.nextNonce?.(address)) !== (await countOwnNonces(gateway.db, chain, address))) return
  await gateway.db.transaction(async (tx) => {
    if ((await fence(tx, lease, { prolongs: false })).tipHash !== tipHash) return
    let left = want
    for (const deposit of await lockDerived(tx, chain, address)) {
      if (deposit.atoms > left) continue
      left -= deposit.atoms
      await withdrawDerived(tx, deposit)
      await markDecisionDue(tx, [deposit])
      const shown = showId('dep', deposit.id)
      const message = `${formatCoins(deposit.atoms, 'ETH')} at ${address} were recorded as a deposit and never came: deposit ${shown} is taken back, and what was booked of it is booked back`
      const { accountId } = deposit
      await raiseAlert(tx, { kind: 'deposit_withdrawn', accountId, subject: shown, message })
      gateway.log.error({ chain, address, deposit: shown, atoms: String(deposit.atoms) }, message)
    }
  })
  gateway.wake('settle')
}
