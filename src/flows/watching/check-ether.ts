/**
 * Finds ether that reached our addresses and that no block showed us: sent by contracts to addresses too old to be
 * compared in every block, or while the node had the state of those blocks no longer. Once a day, and whenever blocks
 * were read without their state or taken by a reorganisation, what every address holds is compared with what is
 * recorded for it.
 */
import type { ChainPort } from '../../chains/chain.ts'
import type { Lease } from '../../chains/chain-view.sql.ts'
import { fence } from '../../chains/chain-view.sql.ts'
import { SENT_BY_CONTRACT } from '../../deposits/deposit.ts'
import { markDecisionDue } from '../../payments/payments.sql.ts'
import type { Gateway } from '../gateway.ts'
import {
  isEtherCheckDue,
  listRecordedEther,
  markEtherChecked,
  type RecordedEther,
} from './check-ether.sql.ts'
import { matchOwnAddresses } from './own-addresses.sql.ts'
import { recordDeposits } from './record-deposits.ts'

const ADDRESSES_PER_LOOK = 3_000

/**
 * Does nothing while no check is due, or on chains whose outputs all have a transaction.
 *
 * @returns How many addresses held more than was recorded. The surplus becomes a deposit in the present tip block.
 * @throws {StaleLease} when another watcher leads now.
 */
export async function checkEther(gateway: Gateway, port: ChainPort, lease: Lease): Promise<number> {
  if (!port.etherAt || !(await isEtherCheckDue(gateway.db, port.chain))) return 0
  let found = 0
  let after: Buffer = Buffer.alloc(0)
  for (;;) {
    const page = await listRecordedEther(gateway.db, port.chain, after, ADDRESSES_PER_LOOK)
    const last = page.at(-1)
    if (!last) break
    const held = await port.etherAt(
      last.tipHash,
      page.map((entry) => entry.address),
    )
    const surplus = page
      .map((entry, position) => ({ ...entry, atoms: (held[position] ?? 0n) - entry.recordedAtoms }))
      .filter((entry) => entry.atoms > 0n)
    if (surplus.length > 0 && !(await recordSurplus(gateway, lease, surplus))) return found
    found += surplus.length
    after = last.lookup
  }
  // What was found may hide more in the same block, under the same name: look again at the next.
  if (found === 0)
    await gateway.db.transaction(async (tx) => {
      await fence(tx, lease)
      await markEtherChecked(tx, port.chain)
    })
  return found
}

/** False when the tip moved meanwhile: what was compared is no longer what is recorded. */
async function recordSurplus(
  gateway: Gateway,
  lease: Lease,
  surplus: readonly (RecordedEther & { atoms: bigint })[],
): Promise<boolean> {
  const transactions = surplus.map(({ address, lookup, atoms, tipHash }) => ({
    key: `internal:${tipHash}:${address.toLowerCase()}`,
    hash: null,
    outputs: [{ lookup, index: SENT_BY_CONTRACT, asset: 'ETH' as const, atoms }],
    inputs: [],
  }))
  const own = await matchOwnAddresses(gateway.db, lease.chain, transactions)
  return gateway.db.transaction(async (tx) => {
    const { tipHash, tipHeight, tipTime } = await fence(tx, lease)
    if (surplus.some((entry) => entry.tipHash !== tipHash)) return false
    const touched = await recordDeposits(gateway, tx, lease.chain, transactions, own, {
      block: { height: tipHeight, hash: tipHash },
      time: tipTime,
    })
    await markDecisionDue(tx, touched)
    gateway.log.warn(
      { chain: lease.chain, addresses: surplus.length },
      'addresses held ether that no block had shown; it is recorded now',
    )
    return true
  })
}
